"""Which events of a walk to show when there are more than asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ...bus.log import LogRecord
from ...schemas.words import Kind
from .walk import Found, in_path_order

KIND_PRIORITY: Final[Mapping[Kind, float]] = {
    "tool_result": 0.9,
    "agent_thought": 0.7,
    "user_input": 0.6,
    "final_answer": 0.3,
}
OTHER_PRIORITY: Final = 0.5
HOUR_S: Final = 3600.0

Similarity = Callable[[LogRecord, LogRecord], float]
"""How much two events say the same (0…1)."""


def chosen(start: LogRecord, found: Mapping[str, Found], top_k: int, similarity: Similarity) -> list[Found]:
    """At most ``top_k`` of ``found``, in path order.

    The strongest chain to a root comes first, since half an explanation is none; if it alone is too long, its near end
    and its root. Then the rest, by how much each helps to reconstruct what happened (`reconstruction`).
    """
    if len(found) <= top_k:
        return in_path_order(found.values())
    chain = _strongest_chain(found)
    if len(chain) > top_k:
        chain = [*chain[: top_k - 1], chain[-1]]
    kept = {f.record.entry.memory.id: f for f in chain}
    others = (f for id, f in found.items() if id not in kept)
    ranked = sorted(others, key=lambda f: (-reconstruction(start, f, similarity), f.depth))
    return in_path_order([*kept.values(), *ranked[: top_k - len(kept)]])


def reconstruction(start: LogRecord, found: Found, similarity: Similarity) -> float:
    """The `hindsight` score of design §5 (0…1), with ``start`` as the present situation.

    ``0.3 · semantic + 0.35 · causal + 0.2 · recency + 0.15 · kind priority``; causal is the weight of the strongest
    way, and recency halves with every hour between the two events.
    """
    memory = found.record.entry.memory
    hours = abs((start.entry.memory.occurred_at - memory.occurred_at).total_seconds()) / HOUR_S
    priority = KIND_PRIORITY.get(memory.kind, OTHER_PRIORITY)
    recency = float(0.5**hours)
    return 0.3 * similarity(start, found.record) + 0.35 * found.weight + 0.2 * recency + 0.15 * priority


def _strongest_chain(found: Mapping[str, Found]) -> list[Found]:
    """The way of the greatest weight to an end (a root; in nothing but cycles, to the deepest), nearest first."""
    ends = [f for f in found.values() if f.last] or [max(found.values(), key=lambda f: f.depth)]
    chain = [max(ends, key=lambda f: (f.weight, f.depth))]
    while (via := chain[-1].via) in found:
        chain.append(found[via])
    return chain[::-1]
