"""The peanut case, end to end over MCP: what was said at the beginning decides at the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from tests.engines.agents import Agent

CASES: Final = Path(__file__).parents[2] / "data" / "cases" / "sessions.jsonl"
SESSION: Final = json.loads(CASES.read_text("utf-8").splitlines()[0])
SMALL: Final = 260
"""Tokens: fifteen turns take three times as many."""


async def told(agent: Agent, session: str, pool: str, until: int) -> list[dict[str, Any]]:
    """Store the turns of the case up to ``until``; the contexts as they were after every third."""
    ids: dict[int, str] = {}
    contexts = []
    for event in SESSION["events"][:until]:
        stored = await agent.tool(
            "memory_store",
            pool=pool,
            session_id=session,
            content=event["content"],
            kind=event["kind"],
            turn=event["turn"],
            data=event.get("data"),
            importance=event.get("importance", 0.5),
            caused_by=[ids[cause] for cause in event["caused_by"]],
            source={"user_input": "user", "tool_result": "tool"}.get(event["kind"], "agent"),
        )
        ids[event["turn"]] = stored["memory"]["id"]
        if event["turn"] % 3 == 0:
            contexts.append(await agent.tool("memory_context", session_id=session, max_tokens=SMALL))
    return contexts


def shown(context: dict[str, Any]) -> str:
    """All text of a context."""
    texts = [each["content"] for each in (*context["turns"], *context.get("lessons", ()))]
    return "\n".join([*texts, context.get("summary") or ""])


async def test_an_early_constraint_survives_and_comes_back(alice: Agent, pool: str, unused: str) -> None:
    contexts = await told(alice, unused, pool, until=15)

    assert sum(bool(context.get("summary")) for context in contexts) >= 2, "it was pressed twice at least"
    for context in contexts:
        assert context["tokens"] <= SMALL
        assert "peanut allergy" in shown(context)
        assert "Ilse Okoro" in shown(context)

    ended = await alice.look_back(session_id=unused, end_session=True)
    assert ended["state"] == "done", ended
    for needed in ("peanut allergy", "95 EUR", "AUR-3381", "TEL-0927"):
        assert needed in ended["episode"]["content"]

    later = f"{unused}-later"
    await alice.tool(
        "memory_store", pool=pool, session_id=later, turn=1, kind="user_input", source="user",
        content="Find a restaurant for Ilse Okoro and me on Friday evening, any allergy to think of?",
    )  # fmt: skip
    context = await alice.tool("memory_context", session_id=later)
    assert "peanut" in "\n".join(lesson["content"] for lesson in context["lessons"])
    found = await alice.tool("memory_retrieve", query="Which restaurant suits Ilse Okoro?", pools=[pool])
    assert any("peanut" in item["memory"]["content"] for item in found["items"])


async def test_a_corrected_seat_preference_replaces_the_old_one(alice: Agent, pool: str) -> None:
    def seat(value: str, content: str, at: str) -> dict[str, Any]:
        fact = {"subject": "Wanda Kiel", "predicate": "seat preference", "object": value}
        return {"pool": pool, "kind": "preference", "tier": "semantic", "source": "user", "content": content,
                "fact": fact, "occurred_at": at}  # fmt: skip

    old = await alice.tool(
        "memory_store", **seat("window", "Wanda Kiel prefers a window seat.", "2026-05-04T09:00:00Z")
    )
    new = await alice.tool(
        "memory_store",
        **seat("aisle", "Wanda Kiel now prefers an aisle seat instead of a window seat.", "2026-05-06T09:00:00Z"),
    )

    assert [each["action"] for each in new["conflicts"]] == ["superseded"]
    assert (await alice.ask("get", id=old["memory"]["id"]))["memory"]["status"] == "superseded"
    found = await alice.tool("memory_retrieve", query="Which seat does Wanda Kiel want?", pools=[pool])
    assert [item["memory"]["id"] for item in found["items"]] == [new["memory"]["id"]]
