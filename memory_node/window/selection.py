"""Which memories of a session to put in front of the model now."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ...schemas import Memory
from ..tokens import count_tokens

DECAY_PER_TURN: Final = 0.1
SIZE: Final = 10
SIZE_IN_TOOL_CHAIN: Final = 20
MAX_TOKENS: Final = 8000


@dataclass(frozen=True, slots=True)
class Selected:
    """The chosen memories in the order of their turns, and the tokens that they take."""

    memories: tuple[Memory, ...]
    tokens: int


def select(memories: Sequence[Memory], max_tokens: int | None = None) -> Selected:
    """The best of ``memories`` (in the order of their turns) by ``importance · exp(-0.1 · turns since)``.

    Design §4: at most 10, or 20 while a chain of tool calls runs, within ``max_tokens`` (8000 if not given). A
    memory that does not fit the budget is passed over for the next best.
    """
    if not memories:
        return Selected((), 0)
    last = len(memories) - 1
    turns = [memory.turn if memory.turn is not None else i for i, memory in enumerate(memories)]
    weights = [
        memory.importance * math.exp(-DECAY_PER_TURN * max(0, turns[last] - turn))
        for memory, turn in zip(memories, turns, strict=True)
    ]
    size = SIZE_IN_TOOL_CHAIN if memories[last].kind in ("tool_call", "tool_result") else SIZE
    left = max_tokens or MAX_TOKENS
    chosen: list[int] = []
    for i in sorted(range(len(memories)), key=lambda i: (-weights[i], -i)):
        tokens = count_tokens(memories[i].content)
        if tokens <= left:
            chosen.append(i)
            left -= tokens
        if len(chosen) == size:
            break
    return Selected(tuple(memories[i] for i in sorted(chosen)), (max_tokens or MAX_TOKENS) - left)


def in_order(memories: Iterable[Memory]) -> list[Memory]:
    """By turn; a memory without one comes after those that were there before it."""
    turns: dict[str, int] = {}
    last = 0
    oldest_first = sorted(memories, key=lambda m: (m.created_at, m.id))
    for memory in oldest_first:
        turns[memory.id] = last + 1 if memory.turn is None else memory.turn
        last = max(last, turns[memory.id])
    return sorted(oldest_first, key=lambda m: turns[m.id])
