"""How sure knowledge is: from its evidence, its sources, and its age."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, TypeAlias

from ...schemas import Evidence, Memory
from ...schemas.words import TRUST_OF_SOURCE, Status

PROMOTE_AT: Final = 0.55
"""A candidate with three supporting episodes and no counter-example has 4/6, with one counter-example 4/7."""
ARCHIVE_BELOW: Final = 0.3
"""One for and three against have 2/7."""
ARCHIVE_AFTER_DAYS: Final = 30
"""…for so long, before it is archived."""

Step: TypeAlias = Literal["promote", "demote", "archive", "keep"]


def confidence(evidence: Evidence) -> float:
    """Design §4: ``(supporting + 1) / (supporting + contradicting + 3)``."""
    return (evidence.supporting + 1) / (evidence.supporting + evidence.contradicting + 3)


def weighted_confidence(supporting: Sequence[float], contradicting: Sequence[float]) -> float:
    """The same rule over evidence that is weighed by the trust in its source, 0…1 each.

    Weights are relative to a tool's trust, so that evidence from tools counts in full and an agent's own words half.
    """
    full = TRUST_OF_SOURCE["tool"]
    pro = sum(min(1.0, trust / full) for trust in supporting)
    contra = sum(min(1.0, trust / full) for trust in contradicting)
    return (pro + 1) / (pro + contra + 3)


def distinct_evidence(episodes: Sequence[Memory]) -> list[Memory]:
    """One episode for each session (or, without one, each author and content): repeating oneself is no evidence."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for episode in episodes:
        key = ("session", episode.session_id) if episode.session_id else (episode.author, episode.content)
        if key not in seen:
            seen.add(key)
            kept.append(episode)
    return kept


def next_step(status: Status, value: float, low_since: datetime | None, now: datetime, *, pinned: bool = False) -> Step:
    """What becomes of a piece of knowledge with confidence ``value``.

    ``low_since`` is when it fell below `ARCHIVE_BELOW` (``None``: it has not). What is pinned or disputed is never
    archived here.
    """
    if status == "candidate" and value >= PROMOTE_AT:
        return "promote"
    if value < ARCHIVE_BELOW and not pinned and status in ("active", "candidate"):
        if low_since is not None and (now - low_since).total_seconds() >= ARCHIVE_AFTER_DAYS * 86_400:
            return "archive"
        return "demote" if status == "active" else "keep"
    return "keep"
