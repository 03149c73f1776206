"""Which memories of a session to put in front of the model now."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ...schemas import Memory
from ..tokens import TokenCounter, count_tokens

DECAY_PER_TURN: Final = 0.1
SIZE: Final = 10
LARGER_SIZE: Final = 20
MAX_TOKENS: Final = 8000
CONTEXT_SHARE: Final = 0.4
"""Of a model's context, design §4."""
LOOKS_BACK: Final = re.compile(
    r"\b(?:earlier|previous(?:ly)?|just now|a moment ago|a while ago|last step|the step before|go(?:ing)? back to|"
    r"as (?:i|we|you) (?:said|mentioned|agreed)|(?:i|we|you) (?:already )?(?:said|told|mentioned|agreed)|remember)\b"
    r"|刚才|刚刚|方才|上一步|上一个|上一次|上次|之前|前面|先前|早些时候|上面说|说过|提到过|提过|还记得|回到",
    re.IGNORECASE,
)
"""A message with one of these refers to what was said before."""


@dataclass(frozen=True, slots=True)
class Selected:
    """The chosen memories in the order of their turns, and the tokens that they take."""

    memories: tuple[Memory, ...]
    tokens: int


def select(memories: Sequence[Memory], max_tokens: int | None = None, count: TokenCounter = count_tokens) -> Selected:
    """The best of ``memories`` (in the order of their turns) by ``importance · exp(-0.1 · turns since)``.

    Design §4: at most 10, or 20 while a chain of tool calls runs or a message looks back, within ``max_tokens`` (8000
    if not given) by ``count``. A memory that does not fit the budget is passed over for the next best.
    """
    if not memories:
        return Selected((), 0)
    last = len(memories) - 1
    turns = [memory.turn if memory.turn is not None else i for i, memory in enumerate(memories)]
    weights = [
        memory.importance * math.exp(-DECAY_PER_TURN * max(0, turns[last] - turn))
        for memory, turn in zip(memories, turns, strict=True)
    ]
    size = LARGER_SIZE if _looks_back(memories) else SIZE
    left = max_tokens or MAX_TOKENS
    chosen: list[int] = []
    for i in sorted(range(len(memories)), key=lambda i: (-weights[i], -i)):
        tokens = count(memories[i].content)
        if tokens <= left:
            chosen.append(i)
            left -= tokens
        if len(chosen) == size:
            break
    return Selected(tuple(memories[i] for i in sorted(chosen)), (max_tokens or MAX_TOKENS) - left)


def budget_for(model_context: int) -> int:
    """Tokens for a context, if its caller names no budget (design §4)."""
    return min(int(CONTEXT_SHARE * model_context), MAX_TOKENS)


def _looks_back(memories: Sequence[Memory]) -> bool:
    """Whether a chain of tool calls runs, or the latest message refers to what was earlier."""
    if memories[-1].kind in ("tool_call", "tool_result"):
        return True
    said = next((memory for memory in reversed(memories) if memory.kind == "user_input"), memories[-1])
    return any(LOOKS_BACK.search(memory.content) for memory in (said, memories[-1]))


def in_order(memories: Iterable[Memory]) -> list[Memory]:
    """By turn; a memory without one comes after those that were there before it."""
    turns: dict[str, int] = {}
    last = 0
    oldest_first = sorted(memories, key=lambda m: (m.created_at, m.id))
    for memory in oldest_first:
        turns[memory.id] = last + 1 if memory.turn is None else memory.turn
        last = max(last, turns[memory.id])
    return sorted(oldest_first, key=lambda m: turns[m.id])
