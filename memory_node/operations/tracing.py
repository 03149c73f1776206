"""`trace`: why something happened, or what came of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

import numpy as np

from ...bus.log import Log, LogRecord
from ...bus.rpc import Caller
from ...schemas import Memory, TimeRange, Trace, TracedItem, TraceReply, Unavailable
from ..access import Access, no_such_session
from ..bulk import without_bulk
from ..index import Calibration, Index, IndexFilter, raw_vector
from ..tracing import MAX_VISITED, Step, chosen, trigger_of, walk
from .reading import readable_record

logger = logging.getLogger(__name__)

_FORESEEN: Final = 100
"""Events of a session that are looked through at once, the last ones before the start: 3 ms."""
_FORESEEN_WITHIN_S: Final = 0.25
_INSTANT: Final = timedelta(microseconds=1)


class Tracing:
    """Walks the graph of causes under the caller's permissions, from the log; effects are looked up in the index."""

    def __init__(self, *, access: Access, log: Log, index: Index, calibration: Calibration) -> None:
        self._access = access
        self._log = log
        self._index = index
        self._calibration = calibration

    async def trace(self, caller: Caller, request: Trace) -> TraceReply:
        """The chain in path order, without the start."""
        start = await self._start(caller.agent, request)
        trigger = trigger_of(request.signals)
        if trigger is None:
            return TraceReply(items=(), triggered=False)
        walker = _Walker(caller.agent, self._access, self._log, self._index)
        expand = walker.causes if request.direction == "causes" else walker.effects
        if request.direction == "causes":
            await walker.foresee(start, request.max_depth)
        found = await walk(start, expand, walker.read, max_depth=request.max_depth)
        items = chosen(start, found, request.top_k, self._similarity)
        left = [f for f in items if f.record.entry.memory.status != "purged"]
        shown, without_data = without_bulk([f.record.entry.memory for f in left])
        return TraceReply(
            items=tuple(
                TracedItem(memory=memory, depth=f.depth, weight=round(f.weight, 6), via=f.via)
                for memory, f in zip(shown, left, strict=True)
            ),
            triggered=True,
            trigger=trigger,
            without_data=without_data,
        )

    async def _start(self, agent: str, request: Trace) -> LogRecord:
        if request.id is not None:
            return await readable_record(self._log, self._access, agent, request.id)
        pools = await self._access.readable(agent)
        where = IndexFilter(pools=pools, session_id=request.session_id, author=agent)
        events = await self._index.find(where, limit=MAX_VISITED)
        if not events:
            no_such_session(str(request.session_id))
        last = max(events, key=lambda m: (m.turn if m.turn is not None else -1, m.occurred_at, m.seq or 0))
        return await readable_record(self._log, self._access, agent, last.id, last.pool)

    def _similarity(self, left: LogRecord, right: LogRecord) -> float:
        model = self._calibration.model
        embeddings = (left.entry.embedding, right.entry.embedding)
        if any(e is None or e.model != model for e in embeddings):
            return 0.0
        raw = np.stack([raw_vector(e) for e in embeddings if e is not None])
        texts = [left.entry.memory.content, right.entry.memory.content]
        one, other = self._calibration.apply(raw, texts, "passage")
        return self._calibration.unit(float(one @ other), "passage")


class _Walker:
    """Reads for one walk; remembers which pools the caller may read, so that each is asked about once."""

    def __init__(self, agent: str, access: Access, log: Log, index: Index) -> None:
        self._agent = agent
        self._access = access
        self._log = log
        self._index = index
        self._readable: dict[str, bool] = {}
        self._pools: tuple[str, ...] | None = None
        self._pool_of: dict[str, str] = {}
        self._foreseen: dict[str, LogRecord] = {}

    async def foresee(self, start: LogRecord, max_depth: int) -> None:
        """Read at once what the walk back will mostly come to, where it would read step by step: its session's events.

        The index says which they are; what is walked are the log's newest versions all the same, and what the index
        does not know, or not so any more, is read when the walk comes to it.
        """
        memory = start.entry.memory
        if memory.session_id is None or not _causes(memory) or self._index.state != "ok":
            return
        before = TimeRange(end=memory.occurred_at + _INSTANT)
        where = IndexFilter(pools=(memory.pool,), session_id=memory.session_id, time_range=before)
        try:
            async with asyncio.timeout(_FORESEEN_WITHIN_S):
                events = {event.id: event for event in await self._index.find(where, _FORESEEN)}
        except (TimeoutError, Unavailable) as e:
            logger.info("tracing step by step: %s", e)
            return
        seen = set(frontier := set(_causes(memory)))
        for _ in range(max_depth - 1):
            frontier = {cause for id in frontier if id in events for cause in _causes(events[id])} - seen
            seen |= frontier
        self._foreseen = await self._log.latest_many(tuple(seen), dict.fromkeys(seen, memory.pool))

    async def causes(self, events: Mapping[str, LogRecord]) -> list[Step]:
        """From events to what caused them."""
        steps = []
        for id, record in events.items():
            for link in record.entry.memory.links:
                if link.rel == "caused_by":
                    # Where a cause lies is not said: mostly in its effect's pool. A wrong guess costs one read more.
                    self._pool_of.setdefault(link.target, record.entry.memory.pool)
                    steps.append(Step(id, link.target, link.weight))
        return steps

    async def effects(self, events: Mapping[str, LogRecord]) -> list[Step]:
        """From events to what they caused."""
        if self._pools is None:
            self._pools = await self._access.readable(self._agent)
        where = IndexFilter(pools=self._pools, caused_by=tuple(events))
        steps = []
        for memory in await self._index.find(where, limit=MAX_VISITED):
            self._pool_of[memory.id] = memory.pool
            steps += [
                Step(link.target, memory.id, link.weight)
                for link in memory.links
                if link.rel == "caused_by" and link.target in events
            ]
        return steps

    async def read(self, steps: Iterable[Step]) -> dict[str, LogRecord]:
        """The ends of ``steps`` that exist and that the caller may read."""
        ids = list(dict.fromkeys(step.target for step in steps))
        records = {id: self._foreseen[id] for id in ids if id in self._foreseen}
        if unforeseen := [id for id in ids if id not in records]:
            pools = {id: self._pool_of[id] for id in unforeseen if id in self._pool_of}
            records |= await self._log.latest_many(unforeseen, pools)
        if elsewhere := [id for id in ids if id not in records]:
            records |= await self._log.latest_many(elsewhere)
        return {id: r for id, r in records.items() if await self._may_read(r.entry.memory.pool)}

    async def _may_read(self, pool: str) -> bool:
        if pool not in self._readable:
            self._readable[pool] = await self._access.may_read(self._agent, pool)
        return self._readable[pool]


def _causes(memory: Memory) -> list[str]:
    return [link.target for link in memory.links if link.rel == "caused_by"]
