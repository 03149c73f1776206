"""Why did the agent do this?"""

from __future__ import annotations

import pytest

from tests.engines.agents import Agent, Refused, Reply


async def told(agent: Agent, session: str) -> list[Reply]:
    """A short session: a wish, a thought about it, a call, its result, and the answer."""
    steps = [
        ("user_input", "Ilse is allergic to peanuts. Book us a table.", []),
        ("agent_thought", "Only kitchens without peanuts.", [0]),
        ("tool_call", "Search restaurants in Porto, no peanuts.", [1]),
        ("tool_result", "Tasca do Muro keeps no peanuts.", [2]),
        ("final_answer", "I booked Tasca do Muro.", [1, 3]),
    ]
    events: list[Reply] = []
    for turn, (kind, content, causes) in enumerate(steps, start=1):
        ids = [events[i]["id"] for i in causes]
        events.append(await agent.store(content, kind=kind, session_id=session, turn=turn, caused_by=ids))
    return events


def turns(reply: Reply) -> list[int]:
    return [item["memory"]["turn"] for item in reply["items"]]


async def test_an_answer_is_traced_to_the_wish_that_began_it(alice: Agent, unused: str) -> None:
    """Nearest first, and no cause before its effect although a thought led to the answer directly as well."""
    events = await told(alice, unused)
    reply = await alice.tool("memory_trace", id=events[4]["id"])
    assert turns(reply) == [4, 3, 2, 1]
    assert (reply["triggered"], reply["trigger"]) == (True, "explicit")
    assert [item["depth"] for item in reply["items"]] == [1, 2, 3, 4]


async def test_a_session_is_traced_from_its_latest_event(alice: Agent, unused: str) -> None:
    """For an agent that only knows what it was doing."""
    await told(alice, unused)
    assert turns(await alice.tool("memory_trace", session_id=unused)) == [4, 3, 2, 1]


async def test_effects_are_found_in_the_other_direction(alice: Agent, unused: str) -> None:
    """What came of the wish."""
    events = await told(alice, unused)
    assert turns(await alice.tool("memory_trace", id=events[0]["id"], direction="effects")) == [2, 3, 4, 5]


async def test_when_little_is_asked_for_the_root_is_kept(alice: Agent, unused: str) -> None:
    """Half an explanation is none."""
    events = await told(alice, unused)
    assert turns(await alice.tool("memory_trace", id=events[4]["id"], top_k=2))[-1] == 1


async def test_the_bus_decides_by_the_signals_whether_to_look_back(alice: Agent, unused: str) -> None:
    """A step that went well needs no explanation; a failed tool, or a guess, does."""
    start = (await told(alice, unused))[4]["id"]
    calm = await alice.tool("memory_trace", id=start, signals={"mean_logprob": -0.2})
    assert (calm["triggered"], calm["items"]) == (False, [])
    failed = await alice.tool("memory_trace", id=start, signals={"tool_error": True})
    assert (failed["trigger"], turns(failed)) == ("tool_error", [4, 3, 2, 1])
    guessed = await alice.tool("memory_trace", id=start, signals={"mean_logprob": -2.0})
    assert guessed["trigger"] == "low_confidence"


async def test_what_one_may_not_read_is_not_in_the_chain(alice: Agent, bob: Agent, pool: str) -> None:
    """A cause in a private pool ends the chain for everybody else, without a word."""
    await alice.ask("pool_grant", pool=pool, agent="bob", role="reader")
    private = await alice.store("Between us: the budget is gone.")
    shown = await alice.store("We cancel the trip.", pool=pool, caused_by=[private["id"]])
    assert len((await alice.tool("memory_trace", id=shown["id"]))["items"]) == 1
    assert (await bob.tool("memory_trace", id=shown["id"]))["items"] == []
    with pytest.raises(Refused) as refused:
        await bob.tool("memory_trace", id=private["id"])
    assert refused.value.code == "not_found"
