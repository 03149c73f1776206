"""Forgetting hides; it can be undone."""

from __future__ import annotations

import pytest

from tests.engines.agents import Agent, Refused


async def test_a_forgotten_memory_is_not_found(alice: Agent, pool: str) -> None:
    """It is archived: hidden from retrieval, there for who asks for archived ones."""
    memory = await alice.store("The ferry leaves at 9.", pool=pool)
    reply = await alice.tool("memory_forget", ids=[memory["id"]], reason="the timetable changed")
    assert (reply["count"], reply["ids"]) == (1, [memory["id"]])
    assert await alice.retrieve("When does the ferry leave?", pools=[pool]) == []
    (archived,) = await alice.retrieve("When does the ferry leave?", pools=[pool], include_archived=True)
    assert (archived["id"], archived["status"]) == (memory["id"], "archived")


async def test_the_reason_stands_in_the_history(alice: Agent) -> None:
    """For whoever asks why it is gone."""
    memory = await alice.store("The ferry leaves at 9.")
    await alice.tool("memory_forget", ids=[memory["id"]], reason="the timetable changed")
    last = (await alice.ask("history", id=memory["id"]))["versions"][-1]
    assert (last["reason"], last["changes"]) == ("the timetable changed", {"status": ["active", "archived"]})


async def test_a_forgotten_memory_can_be_brought_back(alice: Agent, pool: str) -> None:
    """By an update of its status."""
    memory = await alice.store("The ferry leaves at 9.", pool=pool)
    await alice.tool("memory_forget", ids=[memory["id"]], reason="a mistake")
    await alice.tool("memory_update", id=memory["id"], expected_version=2, status="active")
    (found,) = await alice.retrieve("When does the ferry leave?", pools=[pool])
    assert (found["id"], found["version"], found["status"]) == (memory["id"], 3, "active")


async def test_what_is_to_be_forgotten_can_be_described(alice: Agent, pool: str) -> None:
    """By the filters of retrieval instead of ids."""
    old = await alice.store("Trial run 1.", pool=pool, tags=["trial"])
    kept = await alice.store("The real run.", pool=pool)
    reply = await alice.tool("memory_forget", where={"pools": [pool], "tags": ["trial"]}, reason="only trials")
    assert reply["ids"] == [old["id"]]
    assert await alice.retrieve("run", pools=[pool]) == [kept]


async def test_copies_stay_and_are_named(alice: Agent, pool: str) -> None:
    """Unless they are to go as well: cascade."""
    note = await alice.store("The valve is stuck.")
    copy = (await alice.tool("memory_share", id=note["id"], pool=pool))["memory"]
    reply = await alice.tool("memory_forget", ids=[note["id"]], reason="repaired")
    assert (reply["ids"], reply["remaining"]) == ([note["id"]], [copy["id"]])
    reply = await alice.tool("memory_forget", ids=[note["id"]], reason="repaired", cascade=True)
    assert (reply["ids"], reply["remaining"]) == ([copy["id"]], [])


async def test_what_is_hidden_is_not_shared(alice: Agent, pool: str) -> None:
    """Its copy would be hidden as well, and whoever shared it would think that the others know."""
    note = await alice.store("The ferry leaves at 9.")
    await alice.tool("memory_forget", ids=[note["id"]], reason="the timetable changed")
    with pytest.raises(Refused, match="the memory is archived") as refused:
        await alice.tool("memory_share", id=note["id"], pool=pool)
    assert refused.value.field == "id"
