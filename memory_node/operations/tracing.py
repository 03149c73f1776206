"""`trace`: why something happened, or what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ...bus.log import Log, LogRecord
from ...bus.rpc import Caller
from ...schemas import Trace, TracedItem, TraceReply
from ..access import Access, no_such_memory
from ..index import Calibration, Index, IndexFilter, raw_vector
from ..tracing import MAX_VISITED, Step, chosen, trigger_of, walk
from .reading import readable_record


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
        found = await walk(start, expand, walker.read, max_depth=request.max_depth)
        items = chosen(start, found, request.top_k, self._similarity)
        return TraceReply(
            items=tuple(
                TracedItem(memory=f.record.entry.memory, depth=f.depth, weight=round(f.weight, 6), via=f.via)
                for f in items
                if f.record.entry.memory.status != "purged"
            ),
            triggered=True,
            trigger=trigger,
        )

    async def _start(self, agent: str, request: Trace) -> LogRecord:
        if request.id is not None:
            return await readable_record(self._log, self._access, agent, request.id)
        pools = await self._access.readable(agent)
        where = IndexFilter(pools=pools, session_id=request.session_id, author=agent)
        events = await self._index.find(where, limit=MAX_VISITED)
        if not events:
            no_such_memory(str(request.session_id))
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
        records = await self._log.latest_many(ids, {id: self._pool_of[id] for id in ids if id in self._pool_of})
        if elsewhere := [id for id in ids if id not in records]:
            records |= await self._log.latest_many(elsewhere)
        return {id: r for id, r in records.items() if await self._may_read(r.entry.memory.pool)}

    async def _may_read(self, pool: str) -> bool:
        if pool not in self._readable:
            self._readable[pool] = await self._access.may_read(self._agent, pool)
        return self._readable[pool]
