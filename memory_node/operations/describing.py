"""`entity`: what a pool knows of what its memories name, namesakes apart."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from ...bus.rpc import Caller
from ...schemas import Entity, EntityMeaning, EntityMemory, EntityReply, Memory, NotFound, RelatedName
from ...schemas.beginnings import beginning
from ...schemas.words import HIDDEN, Kind
from ..access import Access, no_such_pool
from ..index import Calibration, Index, IndexFilter, IndexQuery, Near, bare
from ..retrieval.naming import kind_of, mentions, names_of
from ..retrieval.senses import told_apart

_NAMING: Final = 256
"""Memories that are looked at: the newest that were stored as naming it, and"""
_MENTIONING: Final = 100
"""those whose text has it, best first by the words of the name."""
_MEANINGS: Final = 4
_LISTED: Final = 10
_RELATED: Final = 20
_CONTENT: Final = 500
"""Characters of each; all bounds together keep the reply within half a megabyte, less than any server's largest."""

_TOLD: Final[frozenset[Kind]] = frozenset({"episode", "summary"})
_KNOWLEDGE: Final[frozenset[Kind]] = frozenset({"fact", "preference", "lesson", "procedure"})


class Describing:
    """Gathers what names an entity, under the caller's permissions."""

    def __init__(
        self, *, access: Access, index: Index, calibration: Calibration, clock: Callable[[], datetime]
    ) -> None:
        self._access = access
        self._index = index
        self._calibration = calibration
        self._clock = clock

    async def entity(self, caller: Caller, request: Entity) -> EntityReply:
        """What holds, what held and what happened, for each thing of that name.

        Raises:
            NotFound: the pool is not there for the caller, or nothing in it that the caller may find has the name.
        """
        if not await self._access.may_read(caller.agent, request.pool):
            no_such_pool(request.pool)
        now = self._clock()
        shown = HIDDEN - {"superseded"}
        where = IndexFilter(pools=(request.pool,), statuses_hidden=shown, clearance=request.clearance)
        memories = await self._naming(where, request.name)
        memories = [m for m in memories if _begun(m, now)]
        if not memories:
            raise NotFound(f"nothing in {request.pool!r} that you may find names {request.name!r}", name=request.name)
        groups = await told_apart(self._index, self._calibration, request.name, memories)
        return EntityReply(
            pool=request.pool,
            name=request.name,
            meanings=tuple(_meaning(request.name, group, now) for group in groups[:_MEANINGS]),
        )

    async def _naming(self, where: IndexFilter, name: str) -> list[Memory]:
        """Those that were stored as naming it, and those whose text does; newest first."""
        near = Near(entities=(name,), subjects=(name,))
        named, hits = await asyncio.gather(
            self._index.find(dataclasses.replace(where, near=near), _NAMING),
            self._index.search(IndexQuery(text=name, vector=None, filter=where, limit=_MENTIONING, depth=_MENTIONING)),
        )
        said = [hit.memory for hit in hits if mentions(hit.memory.content, name)]
        found = {memory.id: memory for memory in (*named, *said)}
        return sorted(found.values(), key=lambda m: (m.occurred_at, m.seq or 0), reverse=True)


def _begun(memory: Memory, now: datetime) -> bool:
    """Whether it is valid already and has not expired; what was valid once is shown apart."""
    return not (memory.valid_from and memory.valid_from > now) and not (memory.expires_at and memory.expires_at <= now)


def _meaning(name: str, memories: Sequence[Memory], now: datetime) -> EntityMeaning:
    kinds = Counter(kind for m in memories if (kind := kind_of(name, m.content)) and kind != "named")
    beside = Counter(form for m in memories for key, form in names_of(m).items() if key != bare(name))
    parts: dict[str, list[EntityMemory]] = {part: [] for part in ("facts", "superseded", "episodes", "events")}
    for memory in memories:
        listed = parts[_part(memory, now)]
        if len(listed) < _LISTED:
            listed.append(_mention(memory))
    return EntityMeaning(
        kind=kinds.most_common(1)[0][0] if kinds else None,
        memories=len(memories),
        related=tuple(RelatedName(name=form, count=count) for form, count in beside.most_common(_RELATED)),
        **{part: tuple(listed) for part, listed in parts.items()},
    )


def _part(memory: Memory, now: datetime) -> str:
    if memory.status == "superseded" or (memory.valid_to and memory.valid_to <= now):
        return "superseded"
    if memory.kind in _TOLD:
        return "episodes"
    return "facts" if memory.tier == "semantic" or memory.kind in _KNOWLEDGE else "events"


def _mention(memory: Memory) -> EntityMemory:
    cut = len(memory.content) > _CONTENT
    content = beginning(memory.content, _CONTENT - 1) + "…" if cut else memory.content
    return EntityMemory(memory=replace(memory, content=content, data=None), truncated=cut or memory.data is not None)
