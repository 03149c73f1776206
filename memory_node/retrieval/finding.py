"""Candidates from the index; where it is away, from the newest entries of the log."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from numpy.typing import NDArray

from ...bus.log import Log
from ...schemas import Unavailable
from ..index import Calibration, Hit, Index, IndexFilter, IndexQuery, folded, search_entries, speaker
from .absence import absent, doubted, unrelated
from .hops import Reached, hopped
from .question import Question, possible_names

logger = logging.getLogger(__name__)

_WITHOUT_INDEX: Final = 2000
"""Entries of the log that are looked through while the index is away: about 50 ms."""
_MOST_NAMED: Final = 4
_NEAREST: Final = 8


class Finding:
    """Asks the index, and does without where it has to (design §9, G7)."""

    def __init__(self, index: Index, log: Log, calibration: Calibration) -> None:
        self._index = index
        self._calibration = calibration
        self._log = log

    async def candidates(self, query: IndexQuery, degraded: list[str]) -> list[Hit]:
        """As `Index.search`. Without the index, by words among what was written last; then ``degraded`` says so.

        Raises:
            Unavailable: the log is away as well.
        """
        try:
            return await self._index.search(query)
        except Unavailable as e:
            logger.warning("retrieval from the newest entries of the log: %s", e)
        if "index" not in degraded:
            degraded.append("index")
        newest = await self._log.newest(_WITHOUT_INDEX)
        return await asyncio.to_thread(search_entries, [record.entry for record in newest], query)

    async def hopped(
        self, query: IndexQuery, hits: Sequence[Hit], scores: Mapping[str, float], hops: int, degraded: list[str]
    ) -> tuple[Sequence[Hit], Mapping[str, Reached]]:
        """As `hops.hopped`; without the index there are no hops, and ``degraded`` says so."""
        try:
            return await hopped(self._index, self._calibration, query, hits, scores, hops)
        except Unavailable as e:
            logger.warning("retrieval without hops: %s", e)
        degraded.append("hops")
        return hits, {}

    async def speakers(self, text: str, among: IndexFilter) -> list[str]:
        """The names in ``text`` of those whose turns of talk pass the filter, folded; none while the index is away."""
        names = possible_names(text)
        found: list[str] = []
        while names and len(found) < _MOST_NAMED:
            try:
                said = await self._index.find(dataclasses.replace(among, speakers=tuple(names)), limit=1)
            except Unavailable as e:
                logger.warning("retrieval without knowing who speaks: %s", e)
                break
            name = folded(speaker(said[0]) or "") if said else ""
            if not name:
                break
            names = frozenset(other for other in names if other not in name and name not in other)
            found.append(name)
        return found

    async def absent(
        self,
        hits: Sequence[Hit],
        question: Question,
        among: IndexFilter,
        embed: Callable[[str], Awaitable[NDArray[Any] | None]],
    ) -> bool:
        """Whether what is asked for is not there (see `absence`). Most often nothing has to be asked.

        ``embed`` gives the raw query vector of a text.
        """
        if unrelated(hits, question):
            return True
        doubt = doubted(hits, question)
        if doubt is None or not doubt.of:
            return doubt is not None
        vector = await embed(doubt.asked)
        if vector is None:
            return False
        query = IndexQuery(text=doubt.asked, vector=vector, filter=among, limit=_NEAREST, depth=_NEAREST)
        own = dataclasses.replace(query, filter=dataclasses.replace(among, ids=doubt.of))
        try:
            found = await asyncio.gather(self._index.search(own), self._index.search(query))
        except Unavailable as e:
            logger.warning("an answer that may be none: %s", e)
            return False
        of_it, of_all = (max((hit.semantic or 0.0 for hit in some), default=0.0) for some in found)
        return absent(of_it, of_all)
