"""A session's causes are read at once, by what the index knows of it; what is told is what the log holds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from nats.aio.client import Client

from afterwit.bus.log import Log, LogRecord
from afterwit.bus.rpc import Caller
from afterwit.bus.streams import ensure_streams
from afterwit.memory_node.access import Access
from afterwit.memory_node.index import Calibration, EdgeIndex
from afterwit.memory_node.operations.tracing import Tracing
from afterwit.schemas import Link, LogEntry, Trace
from tests.embedders import WordEmbedder
from tests.samples import NOON, entry, next_version


class CountedLog(Log):
    reads = 0

    async def latest_many(self, ids: Sequence[str], pools: Mapping[str, str] | None = None) -> dict[str, LogRecord]:
        self.reads += 1
        return await super().latest_many(ids, pools)


@dataclass
class Bus:
    log: CountedLog
    index: EdgeIndex
    tracing: Tracing

    async def append(self, *events: LogEntry, indexed: bool = True, after: int = 0) -> list[LogEntry]:
        stored = []
        for event in events:
            seq = await self.log.append(event, expected_seq=after)
            stored.append(msgspec.structs.replace(event, memory=msgspec.structs.replace(event.memory, seq=seq)))
        if indexed:
            await self.index.put(stored)
        return stored

    async def traced(self, event: LogEntry, depth: int = 20) -> list[str]:
        reply = await self.tracing.trace(Caller("alice"), Trace(id=event.memory.id, max_depth=depth))
        return [item.memory.content for item in reply.items]


@pytest_asyncio.fixture
async def bus(nc: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bus]:
    monkeypatch.setattr("afterwit.memory_node.operations.tracing._FORESEEN_WITHIN_S", 60.0)
    await ensure_streams(nc.jetstream())
    calibration = Calibration.measure(WordEmbedder())
    log, nobody = CountedLog(nc), Access(_nobody(), _nobody())
    async with await EdgeIndex.open(tmp_path / "index", calibration) as index:
        yield Bus(log, index, Tracing(access=nobody, log=log, index=index, calibration=calibration))


def _nobody() -> Any:
    """One's own pool needs no grant."""


def event(turn: int, *causes: LogEntry, session_id: str | None = "s", pool: str = "agent/alice") -> LogEntry:
    links = tuple(Link(rel="caused_by", target=cause.memory.id, weight=1.0) for cause in causes)
    at = NOON + timedelta(seconds=turn)
    return entry(f"event {turn}", pool=pool, session_id=session_id, turn=turn, occurred_at=at, links=links)


async def test_a_chain_within_a_session_is_one_read(bus: Bus) -> None:
    chain = [event(0)]
    for turn in range(1, 8):
        chain.append(event(turn, chain[-1]))
    await bus.append(*chain)
    assert await bus.traced(chain[-1]) == [f"event {turn}" for turn in range(6, -1, -1)]
    assert bus.log.reads == 1
    assert await bus.traced(chain[-1], depth=2) == ["event 6", "event 5"]


async def test_what_the_index_does_not_know_is_read_all_the_same(bus: Bus) -> None:
    """A cause in another session, and events that are not indexed yet."""
    other, late = event(0, session_id="before"), event(1, session_id="before")
    first = event(2, other)
    unknown = event(3, first, late)
    last = event(4, unknown)
    await bus.append(other, first, last)
    await bus.append(late, unknown, indexed=False)
    assert await bus.traced(last) == ["event 3", "event 2", "event 1", "event 0"]


async def test_the_newest_version_says_what_the_causes_are(bus: Bus) -> None:
    """The index may lag: here it still says that the first event led to the second one."""
    wrong, right = event(0), event(1)
    middle = event(2, wrong)
    last = event(3, middle)
    stored = await bus.append(wrong, right, middle, last)
    corrected = next_version(middle, links=event(2, right).memory.links, content="corrected")
    await bus.append(corrected, indexed=False, after=stored[2].memory.seq or 0)
    assert await bus.traced(last) == ["corrected", "event 1"]


async def test_an_index_that_is_away_is_not_needed(bus: Bus) -> None:
    chain = [event(0)]
    for turn in range(1, 4):
        chain.append(event(turn, chain[-1]))
    await bus.append(*chain)
    await bus.index.close()
    assert await bus.traced(chain[-1]) == ["event 2", "event 1", "event 0"]
    assert bus.log.reads == 3
