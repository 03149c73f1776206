"""Candidates from the index; where it is away, from the newest entries of the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Final

from ...bus.log import Log
from ...schemas import Unavailable
from ..index import Calibration, Hit, Index, IndexQuery, search_entries
from .hops import Reached, hopped

logger = logging.getLogger(__name__)

_WITHOUT_INDEX: Final = 2000
"""Entries of the log that are looked through while the index is away: about 50 ms."""


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
