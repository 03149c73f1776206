"""Pressing the oldest turns of a window into one summary that provably loses no name, number, date or condition.

First step: every turn is shortened on its own; sentences without a detail or a condition go, oldest and least
important turns first. Second step, if that is not enough: the conditions word for word, and the rest as a list of
details. What `kept` then finds missing is appended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ...schemas import Memory
from ..tokens import TokenCounter, count_tokens
from .keeping import conditions, details, kept, squeezed
from .sentences import language_of, sentences

_DETAILS: Final = {"en": "Also: ", "zh": "另有："}
_JOIN: Final = {"en": "; ", "zh": "；"}
_STATED: Final = frozenset({"user_input", "summary", "agent_thought", "final_answer", "note", "preference", "fact"})


@dataclass(frozen=True, slots=True)
class Compressed:
    """``text`` takes ``tokens``. ``missing`` is empty unless the details alone do not fit the budget.

    Then the least important ones (of tool results, the oldest first) are in it: the events still hold them.
    """

    text: str
    tokens: int
    missing: tuple[str, ...] = ()


def compress(
    turns: Sequence[Memory], budget: int, known: Iterable[str] = (), count: TokenCounter = count_tokens
) -> Compressed:
    """One summary of ``turns`` (in order; the first may be an earlier one) within ``budget`` tokens by ``count``."""
    known = tuple(known)
    contents = [turn.content for turn in turns]
    whole = "\n".join(contents)
    tongue = language_of(contents)
    first = _shortened_turns(turns, budget, known, count)
    if first is not None:
        completed = _completed(whole, first, tongue, known)
        tokens = count(completed)
        if tokens <= budget:
            return Compressed(completed, tokens)
    return _pressed(turns, budget, tongue, known, count)


def _shortened_turns(turns: Sequence[Memory], budget: int, known: tuple[str, ...], count: TokenCounter) -> str | None:
    """Turns as they are, then without idle sentences, from the least important and oldest on; ``None`` if too long."""
    lines = [turn.content for turn in turns]
    total = count("\n".join(lines))
    order = sorted(range(len(turns)), key=lambda i: (_weight(turns[i]), i))
    for i in order:
        if total <= budget:
            break
        before = count(lines[i])
        lines[i] = " ".join(s for s in sentences(lines[i]) if details(s, known) or _is_condition(s))
        total -= before - count(lines[i])
    return "\n".join(filter(None, lines)) if total <= budget else None


def _weight(turn: Memory) -> float:
    stated = 1.0 if turn.kind in ("user_input", "summary") else 0.5 if turn.kind == "final_answer" else 0.0
    return turn.importance + stated


def _is_condition(sentence: str) -> bool:
    return bool(conditions(sentence))


def _completed(whole: str, summary: str, tongue: str, known: tuple[str, ...]) -> str:
    missing = kept(whole, summary, known)
    return summary if not missing else f"{summary}\n{_DETAILS[tongue]}{_JOIN[tongue].join(missing)}"


def _pressed(
    turns: Sequence[Memory], budget: int, tongue: str, known: tuple[str, ...], count: TokenCounter
) -> Compressed:
    """Conditions word for word and all details, best first, while they fit; then sentences while there is room."""
    lines: list[str] = []
    plain = ""
    used = 0
    missing: list[str] = []
    wanted = _wanted(turns, known)
    for piece in wanted:
        if squeezed(piece) in plain:
            continue
        tokens = count(piece) + 1
        if used + tokens > budget:
            missing.append(piece)
            continue
        lines.append(piece)
        plain += "\n" + squeezed(piece)
        used += tokens
    text = _JOIN[tongue].join(lines)
    while lines and count(text) > budget:  # what joins them may take more than the token that was set aside
        missing.append(lines.pop())
        text = _JOIN[tongue].join(lines)
    still = [piece for piece in missing if squeezed(piece) not in squeezed(text)]
    return Compressed(text, count(text), tuple(still))


def _wanted(turns: Sequence[Memory], known: tuple[str, ...]) -> list[str]:
    """Conditions of what was stated, then details: of what was stated, of tools; the newest first among the latter."""
    stated = [turn for turn in turns if turn.kind in _STATED]
    tools = [turn for turn in reversed(turns) if turn.kind not in _STATED]
    by_weight = sorted(stated, key=lambda turn: -_weight(turn))
    pieces = [
        piece for turn in by_weight if turn.kind in ("user_input", "summary") for piece in conditions(turn.content)
    ]
    pieces += [
        piece for turn in by_weight if turn.kind not in ("user_input", "summary") for piece in conditions(turn.content)
    ]
    for turn in (*stated, *tools):
        pieces += details(turn.content, known)
    for turn in tools:
        pieces += conditions(turn.content)
    return list(dict.fromkeys(pieces))
