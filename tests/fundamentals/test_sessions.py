"""A session is one task of one agent; its window is what the model should have before it now."""

from __future__ import annotations

import pytest

from tests.engines.agents import Agent


async def test_the_context_of_a_session_is_its_turns_in_order(alice: Agent, unused: str) -> None:
    """Whatever order they came in."""
    await alice.store("Which flight shall I take?", session_id=unused, turn=1, kind="user_input")
    await alice.store("The early one.", session_id=unused, turn=3, kind="final_answer")
    await alice.store("The early one is cheaper.", session_id=unused, turn=2, kind="agent_thought")
    context = await alice.tool("memory_context", session_id=unused)
    assert [memory["turn"] for memory in context["turns"]] == [1, 2, 3]
    assert context["tokens"] > 0


async def test_a_context_fits_into_the_budget(alice: Agent, unused: str) -> None:
    """Important turns stay."""
    await alice.store("The customer must not be called before noon.", session_id=unused, turn=1, importance=1.0)
    for turn in range(2, 6):
        await alice.store(
            f"Small talk number {turn}, of no importance at all.", session_id=unused, turn=turn, importance=0.1
        )
    context = await alice.tool("memory_context", session_id=unused, max_tokens=15)
    assert [memory["turn"] for memory in context["turns"]] == [1]
    assert context["tokens"] <= 15


async def test_what_was_forgotten_leaves_the_window(alice: Agent, unused: str) -> None:
    """And comes back when it is brought back."""
    memory = await alice.store("The customer is allergic to nuts.", session_id=unused, turn=1)
    await alice.tool("memory_forget", ids=[memory["id"]], reason="another customer")
    assert (await alice.tool("memory_context", session_id=unused))["turns"] == []
    await alice.tool("memory_update", id=memory["id"], expected_version=2, status="active")
    assert [turn["id"] for turn in (await alice.tool("memory_context", session_id=unused))["turns"]] == [memory["id"]]


async def test_a_session_is_one_agents(alice: Agent, bob: Agent, unused: str) -> None:
    """Another agent's session of the same name is another session."""
    await alice.store("Mine.", session_id=unused, turn=1)
    assert (await bob.tool("memory_context", session_id=unused))["turns"] == []


async def test_the_window_is_a_resource_too(alice: Agent, unused: str) -> None:
    """For hosts that attach resources."""
    await alice.store("Step one.", session_id=unused, turn=1)
    window = await alice.read(f"memory://agent/alice/session/{unused}")
    assert window == await alice.tool("memory_context", session_id=unused)
    with pytest.raises(Exception, match="not found"):
        await alice.read(f"memory://agent/bob/session/{unused}")


async def test_a_search_can_be_kept_to_a_session(alice: Agent, unused: str) -> None:
    """By a filter."""
    mine = await alice.store("Order 66 was sent.", session_id=unused)
    await alice.store("Order 67 was sent.")
    assert await alice.retrieve("Which order was sent?", session_id=unused) == [mine]


async def test_what_a_tool_returned_counts_and_bulk_stays_where_it_is(alice: Agent, unused: str) -> None:
    """A context is for a model that has so much room; a page of rows is one read away."""
    small, large = {"rows": [1, 2, 3]}, {"rows": ["many"] * 2000}
    first = await alice.store("The count of rows is three.", kind="tool_result", session_id=unused, turn=1, data=small)
    second = await alice.store(
        "All rows were read.", kind="tool_result", session_id=unused, turn=2, data=large, caused_by=[first["id"]]
    )
    context = await alice.tool("memory_context", session_id=unused)
    assert [turn.get("data") for turn in context["turns"]] == [small, None]
    assert context["without_data"] == [second["id"]]
    narrow = await alice.tool("memory_context", session_id=unused, max_tokens=context["tokens"] - 1)
    assert narrow["tokens"] < context["tokens"]
    assert set(narrow["without_data"]) == {first["id"], second["id"]}
    forward = await alice.tool("memory_trace", id=first["id"], direction="effects")
    assert forward["without_data"] == [second["id"]]
    assert (await alice.read(second["uri"]))["data"] == large
