"""The causal graph of a session: links checked, missing ones worked out from the order of events."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from ...schemas import Memory
from ...schemas.words import EVENT_KINDS, Kind

WEIGHTS: Final[dict[tuple[Kind, Kind], float]] = {
    ("tool_call", "tool_result"): 1.0,
    ("agent_thought", "final_answer"): 0.8,
    ("agent_thought", "tool_call"): 0.8,
    ("tool_result", "agent_thought"): 0.8,
    ("tool_result", "final_answer"): 0.8,
    ("user_input", "agent_thought"): 0.6,
    ("user_input", "tool_call"): 0.6,
    ("user_input", "final_answer"): 0.6,
}
"""How strongly an event of the first kind leads to one of the second (design §4 gives the first two)."""
OTHER_WEIGHT: Final = 0.4
INFERRED: Final = 0.5
"""A link that was worked out weighs half of one that was said."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One edge: ``cause`` led to ``effect`` (ids); ``inferred`` if nobody said so."""

    effect: str
    cause: str
    weight: float
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class CausalGraph:
    """Every edge, strongest first for each effect, and what was wrong with the links as given."""

    edges: dict[str, tuple[Cause, ...]]
    problems: tuple[str, ...] = ()

    def chain(self, id: str) -> list[str]:
        """From the strongest direct cause of ``id`` back to an event without a cause, nearest first."""
        path: list[str] = []
        seen = {id}
        while found := [cause for cause in self.edges.get(id, ()) if cause.cause not in seen]:
            id = found[0].cause
            seen.add(id)
            path.append(id)
        return path

    def ancestors(self, id: str) -> set[str]:
        """Everything that led to ``id``, however far back."""
        found: set[str] = set()
        waiting = [id]
        while waiting:
            for cause in self.edges.get(waiting.pop(), ()):
                if cause.cause not in found:
                    found.add(cause.cause)
                    waiting.append(cause.cause)
        return found


def causal_graph(events: Sequence[Memory]) -> CausalGraph:
    """The graph of ``events`` (one session, in the order of their turns).

    A link to a later event, to the event itself or twice to the same one is left out and named among the problems. A
    link out of the session is kept. An event without any gets the nearest earlier one that can have led to it.
    """
    position = {event.id: i for i, event in enumerate(events)}
    edges: dict[str, tuple[Cause, ...]] = {}
    problems: list[str] = []
    answered: set[str] = set()
    for i, event in enumerate(events):
        causes: dict[str, Cause] = {}
        for link in event.links:
            if link.rel != "caused_by":
                continue
            at = position.get(link.target)
            if link.target in causes or (at is not None and at >= i):
                problems.append(
                    f"turn {event.turn}: a cause that is {'named twice' if link.target in causes else 'not earlier'}"
                )
                continue
            kind = events[at].kind if at is not None else None
            weight = WEIGHTS.get((kind, event.kind), OTHER_WEIGHT) if kind else OTHER_WEIGHT
            causes[link.target] = Cause(event.id, link.target, min(weight, link.weight))
        if not causes and (inferred := _likely_cause(events, i, answered)) is not None:
            weight = INFERRED * WEIGHTS.get((inferred.kind, event.kind), OTHER_WEIGHT)
            causes[inferred.id] = Cause(event.id, inferred.id, weight, inferred=True)
        if event.kind == "tool_result":
            answered.update(causes)
        edges[event.id] = tuple(sorted(causes.values(), key=lambda cause: -cause.weight))
    return CausalGraph(edges, tuple(problems))


_AT_ONCE: Final = timedelta(seconds=1)
"""Events that are stored at once may come in any order."""


def turn_problems(events: Sequence[Memory]) -> list[str]:
    """What is wrong with the turn numbers of ``events`` (one session, in the order of their turns).

    Several events of one kind in one turn (but calls of tools, which may be made side by side, and what they give),
    turns that nothing was stored for, and turns that happened before the ones that they follow.
    """
    numbered = [event for event in events if event.turn is not None and event.kind in EVENT_KINDS]
    problems: list[str] = []
    said = Counter((event.turn, event.kind) for event in numbered if event.kind not in ("tool_call", "tool_result"))
    problems += [f"turn {turn}: {count} times {kind}" for (turn, kind), count in said.items() if count > 1]
    for a, b in itertools.pairwise(numbered):
        assert a.turn is not None
        assert b.turn is not None
        if b.turn - a.turn > 1:
            problems.append(
                f"turn {a.turn + 1} is missing"
                if b.turn - a.turn == 2
                else f"turns {a.turn + 1} to {b.turn - 1} are missing"
            )
        if b.turn != a.turn and a.occurred_at - b.occurred_at > _AT_ONCE:
            problems.append(f"turn {b.turn}: it happened before turn {a.turn}")
    return problems


_BEFORE: Final[dict[Kind, tuple[Kind, ...]]] = {
    "tool_result": ("tool_call",),
    "tool_call": ("agent_thought", "tool_result", "user_input"),
    "agent_thought": ("tool_result", "user_input", "agent_thought"),
    "final_answer": ("agent_thought", "tool_result", "user_input"),
}
_LOOK_BACK: Final = 32


def _likely_cause(events: Sequence[Memory], i: int, answered: set[str]) -> Memory | None:
    wanted = _BEFORE.get(events[i].kind, ())
    for event in reversed(events[max(0, i - _LOOK_BACK) : i]):
        if event.kind in wanted and event.id not in answered:
            return event
        if events[i].kind != "tool_result" and event.kind == "final_answer":
            return None  # what came before an answer is done with
    return None
