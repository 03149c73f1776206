"""What comes back when one asks, and why."""

from __future__ import annotations

from tests.engines.agents import Agent


async def test_a_turn_is_found_by_what_was_said_before_it(alice: Agent) -> None:
    """And what comes back is the turn itself."""
    await alice.store("Bo: Which harbour did you paint?", session_id="talk-1", turn=1, kind="user_input")
    answer = await alice.store("Al: The old one in Lisbon.", session_id="talk-1", turn=2, kind="final_answer")
    found = await alice.tool("memory_retrieve", query="Which harbour was painted?", session_id="talk-1")
    assert answer["id"] in [item["memory"]["id"] for item in found["items"]]
    assert {item["memory"]["content"] for item in found["items"]} <= {
        "Bo: Which harbour did you paint?", "Al: The old one in Lisbon.",
    }  # fmt: skip


async def test_a_time_in_the_question_is_understood(alice: Agent, pool: str) -> None:
    """Relative to ``now``, or to the ``now`` that is given."""
    for at, what in (("2026-04-14T09:00:00Z", "Booked the Miramar."), ("2026-05-06T09:00:00Z", "Booked the Astoria.")):
        await alice.store(what, pool=pool, occurred_at=at)
    for now, expected in (
        ("2026-04-20T09:00:00Z", "Booked the Miramar."),
        ("2026-05-13T09:00:00Z", "Booked the Astoria."),
    ):
        found = await alice.tool("memory_retrieve", query="What was booked last week?", pools=[pool], now=now)
        assert found["items"][0]["memory"]["content"] == expected
        assert len(found["items"]) == 2, "it is a preference"
        asked = {"query": "What was booked last week?", "pools": [pool], "now": now, "only_then": True}
        (item,) = (await alice.tool("memory_retrieve", **asked))["items"]
        assert item["memory"]["content"] == expected, "it is a filter, if that is asked for"
    for query in ("What was booked?", "订了什么？"):
        asked = {"query": query, "pools": [pool], "only_then": True}
        assert "only_then filtered nothing" in (await alice.tool("memory_retrieve", **asked))["hints"][0]


async def test_the_same_said_twice_is_one_item(alice: Agent, pool: str) -> None:
    """Which names the others."""
    first = await alice.store("The loading bay is closed on public holidays.", pool=pool)
    second = await alice.store("The loading bay is closed on public holidays!", pool=pool)
    found = await alice.tool("memory_retrieve", query="When is the loading bay closed?", pools=[pool])
    (item,) = found["items"]
    assert {item["memory"]["id"], *item["folded"]} == {first["id"], second["id"]}


async def test_a_code_that_nobody_knows_has_no_answer(alice: Agent, pool: str) -> None:
    """What is near it is about something else."""
    await alice.store("Noor reported KST-321: the login page reloads.", pool=pool)
    assert (await alice.tool("memory_retrieve", query="Who reported KST-312?", pools=[pool]))["no_answer"] is True
    assert (await alice.tool("memory_retrieve", query="Who reported KST-321?", pools=[pool]))["no_answer"] is False


async def test_what_only_others_have_is_no_answer(alice: Agent, pool: str) -> None:
    """Both names are known, and nothing has both."""
    await alice.store("Tobias Renner likes the aisle.", pool=pool, entities=["Tobias Renner"])
    await alice.store("Priya Raman's Skywren number is 47.", pool=pool, entities=["Priya Raman", "Skywren"])
    for name, is_none in (("Tobias Renner", True), ("Priya Raman", False)):
        found = await alice.tool("memory_retrieve", query=f"What is {name}'s Skywren number?", pools=[pool])
        assert found["no_answer"] is is_none
        assert bool(found["items"]) is not is_none


async def test_what_helped_rises_and_what_misled_falls(alice: Agent, pool: str) -> None:
    """A little: usefulness decides between equals."""
    right = await alice.store("The valve of pump A is on the left.", pool=pool)
    wrong = await alice.store("The valve of pump A is on the right.", pool=pool)
    query = {"query": "Where is the valve of pump A?", "pools": [pool]}
    for _ in range(3):
        found = await alice.tool("memory_retrieve", **query)
        used = [{"id": right["id"], "effect": "helped"}, {"id": wrong["id"], "effect": "misled"}]
        await alice.tool("memory_feedback", retrieval_id=found["retrieval_id"], used=used)
    found = await alice.tool("memory_retrieve", **query)
    assert found["items"][0]["memory"]["id"] == right["id"]
    assert "helped before" in found["items"][0]["why"]


async def test_asking_for_a_reranker_that_is_not_there_is_said(alice: Agent, pool: str) -> None:
    """And the answer comes without."""
    await alice.store("The spare key is under the mat.", pool=pool)
    found = await alice.tool("memory_retrieve", query="Where is the spare key?", pools=[pool], rerank=True)
    assert found["degraded"] == ["rerank"]
    assert len(found["items"]) == 1


async def test_hops_lead_on_from_what_the_query_finds(alice: Agent, pool: str) -> None:
    """Over links and shared names, to what has no word of the query; each item says which way it was reached."""
    asked = await alice.store("The customer asked for a refund of order 7731.", pool=pool, entities=["Ilse Okoro"])
    wish = await alice.store("Likes to be rung after six.", pool=pool, entities=["Ilse Okoro"])
    await alice.store("Paid out by Jonas.", pool=pool, caused_by=[asked["id"]])
    reply = await alice.tool("memory_retrieve", query="What of the refund of order 7731?", pools=[pool], hops=1)
    assert reply["degraded"] == []
    first, *reached = reply["items"]
    assert first["memory"]["id"] == asked["id"]
    why = {item["memory"]["id"]: item["why"] for item in reached}
    assert f"reached by the name 'ilse okoro' from {asked['id']}" in why[wish["id"]]
