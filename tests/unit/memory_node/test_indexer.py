"""What becomes of a batch of the log: in order, and when an entry or an engine is bad."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from afterwit.bus import names
from afterwit.memory_node import indexer as module
from afterwit.memory_node.giving_way import Background, Way
from afterwit.memory_node.indexer import MAX_DELIVERIES, Indexer
from afterwit.schemas import Internal, LogEntry, Unavailable
from afterwit.schemas.codec import MSGPACK, encode
from tests.samples import NOON, entry


@dataclass
class Message:
    """As the log's consumer delivers it; notes how it was settled."""

    data: bytes
    seq: int
    settled: Callable[[str], None]
    num_delivered: int = 1
    subject: str = names.log("agent/alice", "x")
    headers: dict[str, str] | None = None

    @property
    def metadata(self) -> SimpleNamespace:
        sequence = SimpleNamespace(stream=self.seq)
        return SimpleNamespace(sequence=sequence, num_delivered=self.num_delivered, timestamp=NOON)

    async def ack(self) -> None:
        self.settled(f"ack {self.seq}")

    async def nak(self, delay: float | None = None) -> None:
        self.settled(f"nak {self.seq}")

    async def term(self) -> None:
        self.settled(f"term {self.seq}")


@dataclass
class Bench:
    """An indexer between doubles that note what they are given, in order."""

    events: list[str] = field(default_factory=list)
    refuse: Callable[[LogEntry], Exception | None] = lambda _: None
    way: Way = field(default_factory=Way)

    @property
    def indexer(self) -> Indexer:
        background = Background(self.way, clock=lambda: 0.0)
        return Indexer(*cast("Any", (self.index, self.window, self.announcer, self.dead, self.erasing, background)))

    def message(self, seq: int, *, delivered: int = 1, data: bytes | None = None, **fields: Any) -> Message:
        data = encode(entry(f"entry {seq}", **fields), MSGPACK) if data is None else data
        return Message(data, seq, self.events.append, delivered)

    async def handle(self, *messages: Message) -> list[str]:
        with contextlib.suppress(Unavailable, Internal):  # brings unsettled messages back, as a nak does
            await self.indexer.handle(cast("Any", list(messages)))
        return self.events

    @property
    def index(self) -> SimpleNamespace:
        async def put(entries: Sequence[LogEntry]) -> None:
            for one in entries:
                if error := self.refuse(one):
                    raise error
            self.events.append("index " + _seqs(entries))

        return SimpleNamespace(put=put)

    @property
    def window(self) -> SimpleNamespace:
        async def put(entries: Sequence[LogEntry]) -> None:
            self.events.append("window " + _seqs(entries))

        return SimpleNamespace(put=put)

    @property
    def announcer(self) -> SimpleNamespace:
        async def announce(entries: Sequence[LogEntry]) -> None:
            self.events.append("notice " + _seqs(entries))

        return SimpleNamespace(announce=announce)

    @property
    def dead(self) -> SimpleNamespace:
        async def bury(what: str, subject: str, data: bytes, reason: str, headers: object = None) -> None:
            self.events.append(f"bury {what}")

        return SimpleNamespace(bury=bury)

    @property
    def erasing(self) -> SimpleNamespace:
        async def look(_: Sequence[LogEntry]) -> None:
            pass

        return SimpleNamespace(take=lambda message, _: self.events.append(f"erase {message.seq}"), look=look)


def _seqs(entries: Sequence[LogEntry]) -> str:
    return " ".join(str(one.memory.seq) for one in entries)


async def test_a_batch_is_indexed_then_in_windows_then_told_then_acknowledged() -> None:
    bench = Bench()
    assert await bench.handle(bench.message(1), bench.message(2)) == [
        "index 1 2", "window 1 2", "notice 1 2", "ack 1", "ack 2",
    ]  # fmt: skip


async def test_what_is_waited_for_goes_first_and_does_not_wait_for_what_is_worked_on() -> None:
    bench = Bench()
    indexer = bench.indexer
    bulk, urgent = [bench.message(seq) for seq in (1, 2, 3)], [bench.message(seq) for seq in (4, 5)]
    for message in urgent:
        message.headers = {names.WAITED_FOR: "1"}
    with bench.way.serving():
        working = asyncio.create_task(indexer.handle(cast("Any", bulk)))
        await indexer.handle(cast("Any", urgent))
        assert bench.events == ["index 4 5", "window 4 5", "notice 4 5", "ack 4", "ack 5"]
    await working
    await bench.handle(bench.message(6), *urgent)
    told = [event for event in bench.events[5:] if "notice" in event]
    assert told == ["notice 1 2 3", "notice 4 5", "notice 6"]


async def test_notices_go_in_the_order_of_the_log() -> None:
    bench = Bench()
    assert "notice 3 5" in await bench.handle(bench.message(5), bench.message(3))


async def test_what_cannot_be_read_is_buried_and_the_rest_goes_on() -> None:
    bench = Bench()
    events = await bench.handle(bench.message(1), bench.message(2, data=b"\xc1"), bench.message(3))
    assert {"bury log", "term 2", "index 1 3", "ack 1", "ack 3"} <= set(events)


async def test_while_the_engine_is_away_nothing_is_acknowledged_told_or_given_up() -> None:
    bench = Bench(refuse=lambda _: Unavailable("away"))
    events = await bench.handle(bench.message(1, delivered=100), bench.message(2, delivered=100))
    assert not [event for event in events if event.split()[0] in {"ack", "notice", "bury", "term"}]


@pytest.mark.parametrize("poison", [1, 2])
async def test_an_entry_that_is_always_refused_is_given_up_in_the_end(poison: int) -> None:
    bench = Bench(refuse=lambda one: Internal("refused") if one.memory.seq == poison else None)
    other = 3 - poison
    early = await bench.handle(*(bench.message(seq) for seq in (1, 2)))
    assert "bury log" not in early
    late = await bench.handle(bench.message(poison, delivered=MAX_DELIVERIES), bench.message(other))
    assert {"bury log", f"term {poison}", f"ack {other}"} <= set(late)
    assert f"ack {poison}" not in late


async def test_first_failures_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of what fails here is indexed by another node, which this one never hears of."""
    monkeypatch.setattr(module, "_MOST_FAILURES", 2)
    bench = Bench(refuse=lambda one: Unavailable("away") if one.memory.content != "fine" else None)
    indexer = bench.indexer

    async def deliver(seq: int, content: str) -> None:
        data = encode(entry(content), MSGPACK)
        await indexer.handle(cast("Any", [bench.message(seq, delivered=MAX_DELIVERIES, data=data)]))

    for seq in (1, 2, 3):
        await deliver(seq, "refused")
    await deliver(4, "fine")
    await deliver(1, "refused")  # known no more: as if it failed for the first time
    assert "term 1" not in bench.events
    await deliver(3, "refused")
    assert "term 3" in bench.events
    await deliver(5, "fine")
    await deliver(1, "refused")
    assert "term 1" in bench.events
