"""Fitting the best candidates into what the caller can take, each with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from ...schemas import Memory, RetrievedItem
from ..tokens import count_tokens
from .profiles import Scored

MAX_DATA_BYTES: Final = 4096
"""``data`` over this is left out of a retrieved item: it is one read of the URI away."""


def pack(
    scored: Sequence[Scored], *, top_k: int, max_content_length: int, max_tokens: int | None, now: datetime
) -> tuple[RetrievedItem, ...]:
    """The best ``top_k`` that fit into ``max_tokens`` together, best first.

    The first one that does not fit ends the list: what follows would be a worse answer, not a smaller one. The best
    is cut rather than left out.
    """
    items: list[RetrievedItem] = []
    left = max_tokens
    for candidate in scored[:top_k]:
        memory, truncated = _cut(candidate.memory, max_content_length)
        if left is not None:
            tokens = count_tokens(memory.content)
            if tokens > left and items:
                break
            if tokens > left:
                memory, truncated = replace(memory, content=_fitting(memory.content, left)), True
            left -= min(tokens, left)
        items.append(
            RetrievedItem(
                memory=memory,
                score=round(candidate.score, 6),
                signals=candidate.signals,
                why=_why(candidate, now),
                truncated=truncated,
            )
        )
    return tuple(items)


def _cut(memory: Memory, max_content_length: int) -> tuple[Memory, bool]:
    content = memory.content
    data = memory.data
    if len(content) > max_content_length:
        content = content[: max_content_length - 1] + "…" if max_content_length > 1 else "…"
    if data is not None and len(msgspec.json.encode(data)) > MAX_DATA_BYTES:
        data = None
    if content is memory.content and data is memory.data:
        return memory, False
    return replace(memory, content=content, data=data), True


def _fitting(content: str, tokens: int) -> str:
    """The longest beginning of ``content`` that has at most ``tokens`` tokens with its ellipsis."""
    low, high = 0, len(content)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(content[:middle] + "…") <= tokens:
            low = middle
        else:
            high = middle - 1
    return content[:low] + "…"


def _why(candidate: Scored, now: datetime) -> str:
    memory, signals = candidate.memory, candidate.signals
    reasons = []
    if signals["semantic"] > 0:
        reasons.append(f"meaning {signals['semantic']:.2f}")
    if signals["keyword"] > 0:
        reasons.append(f"words {signals['keyword']:.2f}")
    reasons.append(_age((now - memory.occurred_at).total_seconds()))
    reasons.append(
        f"from {memory.source} {memory.author}, trust {memory.trust:.1f}, confidence {memory.confidence:.2f}"
    )
    if memory.status != "active":
        reasons.append(memory.status)
    return "; ".join(reasons)


def _age(seconds: float) -> str:
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'s' if count > 1 else ''} old"
    return "new"
