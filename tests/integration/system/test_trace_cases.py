"""Labelled sessions: every "why did the agent do this?" is answered by its chain, in order, and by true causes only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engines.agents import Agent

SESSIONS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "cases" / "sessions.jsonl").read_text("utf-8").splitlines()
]
FORKED = [session for session in SESSIONS if session["session_id"] in {"sess-01", "sess-06", "sess-10", "sess-14"}]
"""Those in which an event has several causes and something from the beginning decides at the end; `python -m
tests.evaluation` takes all."""


@pytest.mark.parametrize("session", FORKED, ids=lambda s: s["session_id"])
async def test_every_why_question_gets_its_chain(alice: Agent, unused: str, session: dict[str, Any]) -> None:
    ids = await _stored(alice, f"{session['session_id']}-{unused}", session["events"])
    causes_of = {event["turn"]: event["caused_by"] for event in session["events"]}
    assert session["why_questions"]
    for question in session["why_questions"]:
        reply = await alice.ask("trace", id=ids[question["turn"]], top_k=100)
        turns = [item["memory"]["turn"] for item in reply["items"]]
        assert _in_order(question["causes"], turns), question
        assert set(turns) == _ancestors(question["turn"], causes_of), question


async def _stored(agent: Agent, session_id: str, events: list[dict[str, Any]]) -> dict[int, str]:
    """The events of a session in its agent's memory; their ids by turn."""
    ids: dict[int, str] = {}
    for event in events:
        fields = {"importance": event["importance"]} if "importance" in event else {}
        memory = await agent.store(
            event["content"],
            kind=event["kind"],
            session_id=session_id,
            turn=event["turn"],
            caused_by=[ids[turn] for turn in event["caused_by"]],
            occurred_at=event["at"],
            **fields,
        )
        ids[event["turn"]] = memory["id"]
    return ids


def _in_order(wanted: list[int], turns: list[int]) -> bool:
    rest = iter(turns)
    return all(turn in rest for turn in wanted)


def _ancestors(turn: int, causes_of: dict[int, list[int]]) -> set[int]:
    found: set[int] = set()
    todo = [turn]
    while todo:
        fresh = set(causes_of[todo.pop()]) - found
        found |= fresh
        todo += fresh
    return found
