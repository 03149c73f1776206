"""Quotas, fairness and permission at the time when an ingested item is stored. The engines are doubles."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from afterwit.bus import names
from afterwit.memory_node import ingest
from afterwit.memory_node.ingest import IngestWorker
from afterwit.memory_node.quota import Limits, Quotas
from afterwit.schemas import Quota, StoreReply

FATAL = "It breaks what should store it."
FULL = "Too much is to be embedded."
FAILURES = {FATAL: ValueError("a fault of ours"), FULL: Quota("too many texts wait", retry_after_s=5)}


@dataclass
class Message:
    """One message of the stream, and what became of it."""

    agent: str
    seq: int
    delivered: int = 1
    acked: bool = False
    delays: list[float] = field(default_factory=list)
    headers: dict[str, str] | None = None
    addressed: str = ""
    text: str = ""
    body: bytes | None = None

    @property
    def subject(self) -> str:
        return self.addressed or names.ingest(self.agent, f"agent/{self.agent}")

    @property
    def data(self) -> bytes:
        if self.body is not None:
            return self.body
        return json.dumps({"content": self.text or f"{self.agent} {self.seq}"}).encode()

    @property
    def metadata(self) -> Any:
        return SimpleNamespace(sequence=SimpleNamespace(stream=self.seq), num_delivered=self.delivered)

    async def ack(self) -> None:
        self.acked = True

    async def nak(self, delay: float) -> None:
        self.delays.append(delay)


class World:
    """Everything around the worker. ``stored`` is who had how many items stored, in order."""

    max_payload = 1 << 20

    def __init__(self, limits: Limits | None = None) -> None:
        self.now = 0.0
        self.revoked_agents: set[str] = set()
        self.stored: list[tuple[str, int]] = []
        self.buried: list[str] = []
        self.told: list[str] = []
        quotas = Quotas(limits or Limits(), lambda: self.now)
        self.worker = IngestWorker(
            *(cast("Any", self), cast("Any", self), cast("Any", self), cast("Any", self), quotas),
            clock=lambda: self.now,
        )

    async def revoked(self, agent: str) -> bool:
        return agent in self.revoked_agents

    async def store_ingested(self, agent: str, items: list[Any]) -> list[Any]:
        for item in items:
            if error := FAILURES.get(item.request.content):
                raise error
        self.stored.append((agent, len(items)))
        return [StoreReply(memory=cast("Any", None), created=True) for _ in items]

    async def bury(self, what: str, subject: str, data: bytes, reason: str, headers: Any = None) -> None:
        self.buried.append(reason)

    async def publish(self, subject: str, data: bytes) -> None:
        self.told.append(subject)


async def test_whoever_brings_little_goes_first() -> None:
    world = World()
    await world.worker.handle([cast("Any", Message("alice", n)) for n in range(60)] + [cast("Any", Message("bob", 99))])
    assert world.stored == [("bob", 1), ("alice", 60)]


async def test_what_is_over_quota_comes_again_when_its_turn_is() -> None:
    world = World(Limits(items=10, burst_s=0.5))
    messages = [Message("alice", n) for n in range(10)]
    other = Message("bob", 100)
    await world.worker.handle(cast("Any", [*messages, other]))
    parked = [message for message in messages if message.delays]
    assert [message.seq for message in parked] == [6, 7, 8, 9]
    assert [delay for message in parked for delay in message.delays] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert not any(message.acked for message in parked)
    assert other.acked
    for message in parked:
        message.delivered = 2
    await world.worker.handle(cast("Any", parked))
    assert all(message.acked for message in messages)
    assert [len(message.delays) for message in parked] == [1, 1, 1, 1]
    assert world.buried == []


async def test_when_too_many_wait_the_rest_is_stored_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "MOST_PARKED", 3)
    world = World(Limits(items=1, burst_s=1))
    messages = [Message("alice", n) for n in range(10)]
    await world.worker.handle(cast("Any", messages))
    assert sum(bool(message.delays) for message in messages) == 3
    assert sum(message.acked for message in messages) == 7


async def test_what_has_waited_at_another_node_does_not_wait_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "MOST_PARKED", 3)
    world = World(Limits(items=1, burst_s=1))
    await world.worker.handle(cast("Any", [Message("alice", n) for n in range(10)]))
    elsewhere = Message("alice", 10, delivered=2)
    await world.worker.handle(cast("Any", [elsewhere]))
    assert (elsewhere.acked, elsewhere.delays) == (True, [])


async def test_what_went_to_another_node_takes_no_room_here_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nobody's quota would hold any more, once as many items as have room here had come again elsewhere."""
    monkeypatch.setattr(ingest, "MOST_PARKED", 3)
    world = World(Limits(items=1, burst_s=1))
    await world.worker.handle(cast("Any", [Message("alice", n) for n in range(10)]))
    world.now += 100
    later = [Message("alice", n) for n in range(10, 20)]
    await world.worker.handle(cast("Any", later))
    assert sum(bool(message.delays) for message in later) == 3


async def test_an_item_that_finds_no_room_at_the_embedder_comes_again() -> None:
    world = World()
    message = Message("alice", 1, text=FULL)
    await world.worker.handle(cast("Any", [message]))
    assert (message.acked, len(message.delays), world.buried) == (False, 1, [])


async def test_items_of_a_revoked_agent_are_refused() -> None:
    world = World()
    world.revoked_agents.add("alice")
    messages = [Message("alice", 1), Message("bob", 2)]
    await world.worker.handle(cast("Any", messages))
    assert world.stored == [("bob", 1)]
    assert all(message.acked for message in messages)
    assert world.buried == ["unauthenticated: the agent alice was revoked"]
    assert world.told == [names.rejected("alice")]


@pytest.mark.parametrize("pool", ["shared.团队", "shared.a%b", "shared.Ops", "team.ops"])
async def test_what_is_addressed_to_what_cannot_be_a_pool_is_refused_and_holds_up_nobody(pool: str) -> None:
    """NATS has fewer rules for subjects than we have for pools."""
    world = World()
    messages = [Message("alice", 1, addressed=f"afterwit.v1.ingest.alice.{pool}"), Message("bob", 2)]
    await world.worker.handle(cast("Any", messages))
    assert all(message.acked for message in messages)
    assert world.stored == [("bob", 1)]
    assert world.told == [names.rejected("alice")]
    (reason,) = world.buried
    assert reason.startswith("invalid: pool: must be agent/<name> or shared/<name>")


@pytest.mark.parametrize(
    "headers", [{"content-type": "application/msgpack"}, {"Content-Type": "Application/MsgPack; version=1"}]
)
async def test_the_format_is_read_from_the_header_as_with_requests(headers: dict[str, str]) -> None:
    """Clients differ in how they write names, and may add parameters."""
    world = World()
    await world.worker.handle(
        cast("Any", [Message("alice", 1, headers=headers, body=msgspec.msgpack.encode({"content": "x"}))])
    )
    assert (world.stored, world.buried) == ([("alice", 1)], [])


async def test_a_format_that_is_none_of_ours_is_refused() -> None:
    world = World()
    await world.worker.handle(cast("Any", [Message("alice", 1, headers={"Content-Type": "application/cbor"})]))
    (reason,) = world.buried
    assert reason.startswith("invalid: Content-Type is 'application/cbor' and must be application/json or")
    assert (world.stored, world.told) == ([], [names.rejected("alice")])


async def test_an_item_that_breaks_what_stores_it_comes_again_alone_and_is_refused_in_the_end() -> None:
    world = World()
    fatal = Message("alice", 2, text=FATAL)
    messages = [Message("alice", 1), fatal, Message("alice", 3), Message("bob", 4)]
    await world.worker.handle(cast("Any", messages))
    assert [message.acked for message in messages] == [True, False, True, True]
    assert len(fatal.delays) == 1
    fatal.delivered = ingest.MAX_DELIVERIES
    await world.worker.handle(cast("Any", [fatal]))
    assert fatal.acked
    assert world.buried == ["internal: the node failed; its log has the details"]
