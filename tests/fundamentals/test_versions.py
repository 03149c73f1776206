"""A memory changes by new versions, and keeps the old ones."""

from __future__ import annotations

import asyncio

import pytest

from tests.engines.agents import Agent, Refused


async def test_an_update_makes_a_new_version(alice: Agent) -> None:
    """Fields that are left out stay as they are."""
    first = await alice.store("The meeting is at 10.", tags=["meeting"])
    second = (await alice.tool("memory_update", id=first["id"], expected_version=1, content="The meeting is at 11."))[
        "memory"
    ]
    assert (second["version"], second["content"], second["tags"]) == (2, "The meeting is at 11.", ["meeting"])
    assert (await alice.ask("get", id=first["id"]))["memory"] == second


async def test_the_new_version_is_found_and_the_old_one_is_not(alice: Agent, pool: str) -> None:
    """Retrieval answers with what is the case now."""
    first = await alice.store("The office is in Lisbon.", pool=pool)
    await alice.tool("memory_update", id=first["id"], expected_version=1, content="The office is in Porto.")
    assert [memory["content"] for memory in await alice.retrieve("Where is the office?", pools=[pool])] == [
        "The office is in Porto."
    ]


async def test_a_stale_update_is_refused_with_the_current_version(alice: Agent) -> None:
    """Nobody overwrites what he has not read."""
    memory = await alice.store("Count: 1")
    await alice.tool("memory_update", id=memory["id"], expected_version=1, content="Count: 2")
    with pytest.raises(Refused) as refused:
        await alice.tool("memory_update", id=memory["id"], expected_version=1, content="Count: 3")
    assert (refused.value.code, refused.value.detail["current_version"]) == ("stale", 2)


async def test_of_two_updates_of_one_version_one_wins(alice: Agent, bob: Agent, pool: str) -> None:
    """And the other is told: no update is lost."""
    await alice.ask("pool_grant", pool=pool, agent="bob", role="writer")
    memory = await alice.store("Nobody is on call.", pool=pool)
    outcomes = await asyncio.gather(
        *(
            a.tool("memory_update", id=memory["id"], expected_version=1, content=f"{a.name} is on call.")
            for a in (alice, bob)
        ),
        return_exceptions=True,
    )
    winners = [outcome for outcome in outcomes if isinstance(outcome, dict)]
    losers = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    assert (len(winners), [loser.code for loser in losers]) == (1, ["stale"])


async def test_the_history_says_who_changed_what(alice: Agent, bob: Agent, pool: str) -> None:
    """Every version, oldest first, also as a resource."""
    await alice.ask("pool_grant", pool=pool, agent="bob", role="writer")
    memory = await alice.store("The gate opens at 6.", pool=pool)
    await bob.tool("memory_update", id=memory["id"], expected_version=1, content="The gate opens at 7.")
    first, second = (await alice.ask("history", id=memory["id"]))["versions"]
    assert (first["version"], first["actor"], first["changes"]) == (1, "alice", {})
    assert (second["version"], second["actor"]) == (2, "bob")
    assert second["changes"] == {"content": ["The gate opens at 6.", "The gate opens at 7."]}
    assert (await alice.read(f"{memory['uri']}/history"))["versions"] == [first, second]


async def test_a_long_history_is_read_page_by_page(alice: Agent) -> None:
    """As many versions as a reply has room for, or ``limit`` of them; ``cursor`` says where the next page begins."""
    memory = await alice.store("The gate opens at 0.")
    for hour in range(1, 5):
        await alice.ask("update", id=memory["id"], expected_version=hour, content=f"The gate opens at {hour}.")
    versions = (await alice.ask("history", id=memory["id"]))["versions"]
    page = await alice.ask("history", id=memory["id"], limit=2)
    assert (page["versions"], page["cursor"]) == (versions[:2], "2")
    page = await alice.ask("history", id=memory["id"], limit=2, cursor="2")
    assert (page["versions"], page["cursor"]) == (versions[2:4], "4")
    assert await alice.read(f"{memory['uri']}/history?cursor=4") == {"versions": versions[4:]}


async def test_the_history_tells_of_a_restoring_that_changed_nothing(alice: Agent) -> None:
    """By its reason, like any."""
    memory = await alice.store("Draft one.")
    await alice.tool("memory_update", id=memory["id"], expected_version=1, restore_version=1)
    last = (await alice.ask("history", id=memory["id"]))["versions"][-1]
    assert (last["change"], last["changes"], last["reason"]) == ("updated", {}, "version 1 restored")


async def test_an_old_version_can_still_be_read(alice: Agent) -> None:
    """By its number."""
    memory = await alice.store("Draft one.")
    await alice.tool("memory_update", id=memory["id"], expected_version=1, content="Draft two.")
    assert (await alice.ask("get", id=memory["id"], version=1))["memory"] == memory


async def test_restoring_brings_an_old_version_back_as_a_new_one(alice: Agent) -> None:
    """Nothing is taken out of the history."""
    memory = await alice.store("Draft one.", tags=["draft"])
    await alice.tool("memory_update", id=memory["id"], expected_version=1, content="Draft two.", tags=[])
    restored = (await alice.tool("memory_update", id=memory["id"], expected_version=2, restore_version=1))["memory"]
    assert (restored["version"], restored["content"], restored["tags"]) == (3, "Draft one.", ["draft"])
