"""Fitting the best candidates into what the caller can take, each with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from ...schemas import Memory, RetrievedItem
from ...schemas.beginnings import beginning
from ..bulk import Beside
from ..tokens import TokenCounter, count_tokens
from .likeness import Likeness
from .scoring import Scored


@dataclass(slots=True)
class Folded:
    """A candidate and those that say the same in nearly the same words, which it stands for."""

    best: Scored
    others: list[Scored] = field(default_factory=list)


def fold(scored: Sequence[Scored], limit: int) -> list[Folded]:
    """The first ``limit`` that differ, best first, each with its near-duplicates among those passed on the way."""
    kept: list[Folded] = []
    texts: list[Likeness] = []
    for candidate in scored:
        text = candidate.hit.once(Likeness.of)
        twin = next((i for i, other in enumerate(texts) if text.same(other)), None)
        if twin is not None:
            kept[twin].others.append(candidate)
        elif len(kept) == limit:
            break
        else:
            kept.append(Folded(candidate))
            texts.append(text)
    return kept


def pack(
    scored: Sequence[Scored],
    *,
    top_k: int,
    max_content_length: int,
    max_tokens: int | None,
    now: datetime,
    count: TokenCounter = count_tokens,
) -> tuple[RetrievedItem, ...]:
    """The best ``top_k`` that fit into ``max_tokens`` together (by ``count``), best first.

    Near-duplicates are folded into the best. The first one that does not fit ends the list: what follows would be a
    worse answer, not a smaller one. The best is cut rather than left out. Data counts as texts do, and is left out
    where it finds no room.
    """
    fitting: list[tuple[Folded, Memory]] = []
    left = max_tokens
    for folded in fold(scored, top_k):
        memory = _cut(folded.best.memory, max_content_length)
        if left is not None:
            tokens = count(memory.content)
            if tokens > left and fitting:
                break
            if tokens > left:
                memory = replace(memory, content=_fitting(memory.content, left, count))
            left -= min(tokens, left)
        fitting.append((folded, memory))
    beside = Beside(left, count)  # texts go before data: the best of these get what room there is
    shown = [(folded, beside(memory)) for folded, memory in fitting]
    return tuple(
        RetrievedItem(
            memory=memory,
            score=round(folded.best.score, 6),
            signals={name: round(value, 4) for name, value in folded.best.signals.items()},
            why=_why(folded, now),
            truncated=memory is not folded.best.memory,
            folded=tuple(other.memory.id for other in folded.others),
        )
        for folded, memory in shown
    )


def _cut(memory: Memory, max_content_length: int) -> Memory:
    if len(memory.content) <= max_content_length:
        return memory
    return replace(memory, content=beginning(memory.content, max_content_length - 1) + "…")


def _fitting(content: str, tokens: int, count: TokenCounter) -> str:
    """The longest beginning of ``content`` that has at most ``tokens`` tokens with its ellipsis."""
    low, high = 0, len(content)
    while low < high:
        middle = (low + high + 1) // 2
        if count(content[:middle] + "…") <= tokens:
            low = middle
        else:
            high = middle - 1
    return beginning(content, low) + "…"


def _why(folded: Folded, now: datetime) -> str:
    candidate = folded.best
    memory, signals = candidate.memory, candidate.signals
    reasons = _found_by(signals)
    reasons.append(_age((now - memory.occurred_at).total_seconds()))
    reasons.append(
        f"from {memory.source} {memory.author}, trust {memory.trust:.1f}, confidence {memory.confidence:.2f}"
    )
    if memory.evidence.supporting or memory.evidence.contradicting:
        reasons.append(f"evidence {memory.evidence.supporting} for, {memory.evidence.contradicting} against")
    if signals.get("usefulness", 0.5) != 0.5:
        reasons.append("helped before" if signals["usefulness"] > 0.5 else "misled before")
    if memory.status != "active":
        reasons.append(memory.status)
    if candidate.replaced_by is not None:
        reasons.append(f"replaced by {candidate.replaced_by}")
    elif candidate.newer is not None:
        reasons.append(f"newer on the same: {candidate.newer}")
    if candidate.path:
        steps = ", then ".join(f"{step.via} from {step.source}" for step in candidate.path)
        reasons.append(f"reached by {steps}")
    if folded.others:
        reasons.append(f"{len(folded.others)} more say the same")
    return "; ".join(reasons)


def _found_by(signals: dict[str, float]) -> list[str]:
    reasons = []
    if signals["semantic"] > 0:
        reasons.append(f"meaning {signals['semantic']:.2f}")
    if signals["keyword"] > 0:
        reasons.append(f"words {signals['keyword']:.2f}")
    if "rerank" in signals:
        reasons.append(f"reranked {signals['rerank']:.2f}")
    if signals.get("time"):
        reasons.append("of the time that is asked for")
    if signals.get("speaker"):
        reasons.append("said by whom the query names")
    if signals.get("links"):
        reasons.append("linked with another hit")
    return reasons


def _age(seconds: float) -> str:
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'s' if count > 1 else ''} old"
    return "new"
