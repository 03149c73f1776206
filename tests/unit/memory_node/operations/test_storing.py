"""The id that a store request gets, when two requests are the same, and what many at once are answered."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from afterwit.bus.rpc import Caller
from afterwit.memory_node.guard import Guard
from afterwit.memory_node.operations.storing import Item, Storing
from afterwit.memory_node.write_path import Draft
from afterwit.schemas import Memory, Store, StoreMany, Unavailable


def test_without_a_pool_it_is_the_private_one() -> None:
    assert Item.of("alice", Store(content="x")).pool == "agent/alice"
    assert Item.of("alice", Store(content="x", pool="shared/ops")).pool == "shared/ops"


def test_without_a_key_every_request_is_a_new_memory() -> None:
    one, other = Item.of("alice", Store(content="x")), Item.of("alice", Store(content="x"))
    assert one.id != other.id
    assert uuid.UUID(one.id).version == 7


def test_an_id_follows_from_agent_pool_and_key() -> None:
    request = Store(content="x", idempotency_key="k")
    items = [
        Item.of("alice", request),
        Item.of("bob", request),
        Item.of("alice", replace(request, pool="shared/ops")),
        Item.of("alice", replace(request, idempotency_key="l")),
    ]
    assert len({item.id for item in items}) == len(items)
    assert Item.of("alice", replace(request, content="y")).id == items[0].id


def test_both_ways_in_agree_on_the_id() -> None:
    request = Store(content="x", idempotency_key="k")
    assert Item.ingested("alice", "agent/alice", request, 7).id == Item.of("alice", request).id


def test_an_accepted_request_keeps_its_id_on_the_way_through_the_stream() -> None:
    promised = Item.of("alice", Store(content="x", ack="accepted"))
    stored = Item.ingested("alice", promised.pool, promised.request, 7)
    assert (stored.id, stored.digest) == (promised.id, promised.digest)


def test_a_redelivered_item_is_the_same_memory() -> None:
    one, again, next_ = (Item.ingested("alice", "agent/alice", Store(content="x"), seq) for seq in (7, 7, 8))
    assert one.id == again.id != next_.id


def test_a_key_cannot_be_made_to_meet_a_place_in_the_stream() -> None:
    keyed = Item.of("alice", Store(content="x", idempotency_key="ingest 7"))
    assert keyed.id != Item.ingested("alice", "agent/alice", Store(content="x"), 7).id


def test_requests_are_the_same_whatever_way_they_are_answered() -> None:
    request = Store(content="x", idempotency_key="k")
    digest = Item.of("alice", request).digest
    assert Item.of("alice", replace(request, ack="accepted")).digest == digest
    assert Item.of("alice", replace(request, pool="agent/alice")).digest == digest
    assert Item.of("alice", replace(request, content="y")).digest != digest
    assert Item.of("alice", replace(request, tags=("t",))).digest != digest


def test_the_order_of_names_in_data_does_not_matter() -> None:
    one = Item.of("alice", Store(content="x", data={"a": 1, "b": 2}))
    assert one.digest == Item.of("alice", Store(content="x", data={"b": 2, "a": 1})).digest


def test_the_same_moment_in_another_zone_is_the_same_request() -> None:
    here = Item.of("alice", Store(content="x", occurred_at=datetime.fromisoformat("2026-05-01T12:00:00+02:00")))
    there = Item.of("alice", Store(content="x", occurred_at=datetime.fromisoformat("2026-05-01T10:00:00+00:00")))
    assert here.digest == there.digest


class LogThatGoes:
    """Answers ``answers`` times, and is away after that."""

    def __init__(self, answers: int) -> None:
        self._answers = answers

    async def latest_many(self, _ids: Sequence[str]) -> dict[str, Any]:
        self._answers -= 1
        if self._answers < 0:
            raise Unavailable("the log does not answer")
        return {}


def storing(log: LogThatGoes) -> Storing:
    """Stores whatever comes, two items at a time."""

    async def pieces(items: Sequence[Item]) -> AsyncIterator[Sequence[Item]]:
        for start in range(0, len(items), 2):
            yield items[start : start + 2]

    async def require(*_: Any) -> None:
        pass

    async def write(drafts: Sequence[Draft], **_: Any) -> list[Memory]:
        return [draft.memory for draft in drafts]

    async def settle(memory: Memory) -> tuple[Memory, tuple[str, ...]]:
        return memory, ()

    parts: dict[str, Any] = {
        "access": SimpleNamespace(require=require),
        "log": log,
        "write_path": SimpleNamespace(write=write),
        "contradicting": SimpleNamespace(settle=settle),
        "background": SimpleNamespace(pieces=pieces),
        "settling": None,
        "js": None,
    }
    return Storing(guard=Guard(), clock=lambda: datetime.now(UTC), **parts)


ITEMS: tuple[dict[str, Any], ...] = ({"content": "a"}, {"content": " "}, {"content": "b"}, {"content": "c"})


async def test_what_is_stored_of_many_is_told_though_the_log_goes_away_on_the_way() -> None:
    reply = await storing(LogThatGoes(answers=1)).store_many(Caller("alice"), StoreMany(items=ITEMS))
    told = [result.memory.content if result.memory else result.error and result.error.code for result in reply.results]
    assert told == ["a", "invalid", "b", "unavailable"]


async def test_many_of_which_nothing_is_stored_are_refused_as_one() -> None:
    with pytest.raises(Unavailable):
        await storing(LogThatGoes(answers=0)).store_many(Caller("alice"), StoreMany(items=ITEMS))
