"""The id that a store request gets, and when two requests are the same."""

from __future__ import annotations

import uuid
from datetime import datetime

from msgspec.structs import replace

from afterwit.memory_node.operations.storing import Item
from afterwit.schemas import Store


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
