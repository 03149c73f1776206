"""Saying what a retrieval was worth."""

from __future__ import annotations

import pytest

from tests.engines.agents import Agent, Refused


async def test_feedback_names_what_helped_and_what_misled(alice: Agent, pool: str) -> None:
    """With the id of the retrieval that brought it."""
    memory = await alice.store("Bay 3 has the long ramp.", pool=pool)
    retrieval = await alice.tool("memory_retrieve", query="Which bay has the long ramp?", pools=[pool])
    used = [{"id": memory["id"], "effect": "helped", "note": "It was there."}]
    assert await alice.tool("memory_feedback", retrieval_id=retrieval["retrieval_id"], used=used) == {"recorded": 1}


async def test_feedback_on_somebody_elses_retrieval_is_refused(alice: Agent, bob: Agent) -> None:
    """It is not there for others."""
    memory = await alice.store("Bay 4 is flooded.")
    retrieval = await alice.tool("memory_retrieve", query="Which bay is flooded?")
    used = [{"id": memory["id"], "effect": "misled"}]
    with pytest.raises(Refused) as refused:
        await bob.tool("memory_feedback", retrieval_id=retrieval["retrieval_id"], used=used)
    assert refused.value.code == "not_found"


async def test_a_search_without_an_answer_says_so(alice: Agent, pool: str) -> None:
    """An empty pool answers nothing."""
    reply = await alice.tool("memory_retrieve", query="Is anybody there?", pools=[pool])
    assert (reply["items"], reply["no_answer"]) == ([], True)
