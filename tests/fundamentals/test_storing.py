"""Memories go in, and are found again."""

from __future__ import annotations

import pytest

from tests.engines.agents import Agent, Refused


async def test_a_stored_memory_is_found_by_its_meaning(alice: Agent, pool: str) -> None:
    """`memory_store` answers when the memory can be found; `memory_retrieve` finds it, asked in other words."""
    stored = await alice.store("Marta prefers an aisle seat on long flights.", pool=pool)
    found = await alice.retrieve("Where does Marta like to sit in a plane?", pools=[pool])
    assert [memory["id"] for memory in found] == [stored["id"]]


async def test_a_memory_says_where_it_comes_from(alice: Agent) -> None:
    """The bus, not the writer, says who wrote it; trust starts from the source."""
    memory = await alice.store("The build takes 14 minutes.", source="tool")
    assert (memory["author"], memory["source"], memory["trust"]) == ("alice", "tool", 0.8)


async def test_a_memory_has_a_tier_and_a_kind(alice: Agent, pool: str) -> None:
    """The tier says how it is remembered, the kind what sort of thing it is; retrieval filters on both."""
    await alice.store("The deploy of Monday failed.", pool=pool)
    rule = await alice.store("Deploys fail when the cache is cold.", pool=pool, tier="semantic", kind="lesson")
    assert await alice.retrieve("failed deploys", pools=[pool], tier="semantic") == [rule]
    assert await alice.retrieve("failed deploys", pools=[pool], kind="lesson") == [rule]


async def test_left_out_a_memory_is_an_episodic_note_in_the_private_pool(alice: Agent) -> None:
    """Only the content is required."""
    memory = await alice.store("The stand-up is at ten.")
    assert (memory["pool"], memory["tier"], memory["kind"]) == ("agent/alice", "episodic", "note")


async def test_every_found_item_says_why_it_is_there(alice: Agent, pool: str) -> None:
    """Signals between 0 and 1, and a sentence for people."""
    await alice.store("Invoices are sent on the first of the month.", pool=pool)
    (item,) = (await alice.tool("memory_retrieve", query="When do invoices go out?", pools=[pool]))["items"]
    assert item["why"]
    assert all(0 <= signal <= 1 for signal in item["signals"].values())


async def test_tags_and_entities_narrow_a_search(alice: Agent, pool: str) -> None:
    """All that are named must be there."""
    tagged = await alice.store("Payments run on db-3.", pool=pool, tags=["payments"], entities=["db-3"])
    await alice.store("Search runs on db-4.", pool=pool, tags=["search"], entities=["db-4"])
    assert await alice.retrieve("databases", pools=[pool], tags=["payments"]) == [tagged]
    assert await alice.retrieve("databases", pools=[pool], entities=["db-3"]) == [tagged]


async def test_time_ranges_are_about_when_it_happened(alice: Agent, pool: str) -> None:
    """`occurred_at` is the time of the event; a range includes its start and excludes its end."""
    await alice.store("The review of May.", pool=pool, occurred_at="2026-05-04T10:00:00+02:00")
    june = await alice.store("The review of June.", pool=pool, occurred_at="2026-06-01T00:00:00Z")
    time_range = {"start": "2026-06-01T00:00:00Z", "end": "2026-07-01T00:00:00Z"}
    assert await alice.retrieve("review", pools=[pool], time_range=time_range) == [june]


async def test_data_travels_with_a_memory(alice: Agent) -> None:
    """Any JSON: a tool's result, say."""
    data = {"status": 503, "hosts": ["a", "b"], "retry": None, "比例": 0.5}
    stored = await alice.store("The health check failed on two hosts.", data=data)
    assert (await alice.ask("get", id=stored["id"]))["memory"]["data"] == data


async def test_a_repeated_store_makes_no_second_memory(alice: Agent, unused: str) -> None:
    """With an idempotency key a store may be repeated: the answer is the first memory."""
    request = {"content": "Payment 17 was refunded.", "idempotency_key": unused}
    first = await alice.tool("memory_store", **request)
    again = await alice.tool("memory_store", **request)
    assert (first["created"], again["created"]) == (True, False)
    assert again["memory"] == first["memory"]


async def test_a_key_stands_for_one_content(alice: Agent, unused: str) -> None:
    """The same key with another content is a mistake, and is told."""
    await alice.store("Payment 18 was refunded.", idempotency_key=unused)
    with pytest.raises(Refused) as refused:
        await alice.store("Payment 19 was refunded.", idempotency_key=unused)
    assert (refused.value.code, refused.value.field) == ("invalid", "idempotency_key")


async def test_both_doors_lead_to_the_same_memories(alice: Agent, unused: str) -> None:
    """What goes in over NATS is found over MCP, and keys hold across both."""
    request = {"content": "The lift is out of order.", "idempotency_key": unused}
    over_nats = await alice.ask("store", **request)
    over_mcp = await alice.tool("memory_store", **request)
    assert over_mcp == {**over_nats, "created": False}


async def test_many_memories_go_in_at_once(alice: Agent, pool: str) -> None:
    """`store_many` judges each item alone: a bad one does not hold up the others."""
    items = [
        {"content": "Berth 4 is free.", "pool": pool},
        {"content": " "},
        {"content": "Berth 5 is taken.", "pool": pool},
    ]
    good, bad, good_too = (await alice.ask("store_many", items=items))["results"]
    assert [good["created"], good_too["created"]] == [True, True]
    assert bad["error"]["detail"]["field"] == "content"


async def test_who_is_in_a_hurry_is_answered_when_it_is_safe(alice: Agent, unused: str) -> None:
    """With ack=accepted the answer comes before the memory can be found; its id is final."""
    accepted = await alice.ask("store", content="The tide turns at noon.", ack="accepted", idempotency_key=unused)
    assert accepted["memory"].get("seq") is None
    later = await alice.ask("store", content="The tide turns at noon.", idempotency_key=unused)
    assert later["memory"]["id"] == accepted["memory"]["id"]
