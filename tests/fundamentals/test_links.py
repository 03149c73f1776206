"""Memories point to each other."""

from __future__ import annotations

import pytest

from tests.engines.agents import Agent, Refused


async def test_an_event_names_its_causes(alice: Agent) -> None:
    """`caused_by` draws edges with the weight that these kinds have: a tool's call leads to its result for certain."""
    call = await alice.store("ping db-3", kind="tool_call")
    result = await alice.store("db-3 does not answer", kind="tool_result", caused_by=[call["id"]])
    assert result["links"] == [{"rel": "caused_by", "target": call["id"], "weight": 1.0}]


async def test_a_link_can_be_drawn_later(alice: Agent) -> None:
    """It is kept with its source, which gets a new version."""
    claim = await alice.store("db-3 is overloaded.", tier="semantic", kind="fact")
    evidence = await alice.store("db-3 answered after 9 s.", kind="tool_result")
    reply = await alice.tool("memory_link", source=evidence["id"], target=claim["id"], rel="supports", weight=0.7)
    assert reply == {"source": {"id": evidence["id"], "version": 2}, "target": {"id": claim["id"], "version": 1}}
    linked = (await alice.ask("get", id=evidence["id"]))["memory"]
    assert linked["links"] == [{"rel": "supports", "target": claim["id"], "weight": 0.7}]


async def test_drawing_a_link_twice_changes_nothing(alice: Agent) -> None:
    """Repeating is harmless."""
    one, other = await alice.store("Rain."), await alice.store("Wet streets.")
    link = {"source": other["id"], "target": one["id"], "rel": "related_to"}
    assert await alice.tool("memory_link", **link) == await alice.tool("memory_link", **link)


async def test_a_link_needs_a_target_that_one_may_read(alice: Agent, bob: Agent) -> None:
    """A memory that is there for others alone cannot even be pointed at."""
    private, mine = await alice.store("Between us."), await bob.store("A guess.")
    with pytest.raises(Refused) as refused:
        await bob.tool("memory_link", source=mine["id"], target=private["id"], rel="related_to")
    assert refused.value.code == "not_found"
    with pytest.raises(Refused) as refused:
        await bob.store("An effect.", caused_by=[private["id"]])
    assert (refused.value.code, refused.value.detail["ids"]) == ("invalid", [private["id"]])
