"""What may be let go of: by time, use and confidence. Nothing that is pinned or disputed, and lessons slowly."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Final

from ...schemas import Memory, Retention
from ...schemas.words import EVENT_KINDS, Kind
from .confidence import next_step

HALF_LIFE_DAYS: Final[dict[Kind, float]] = {
    **dict.fromkeys(EVENT_KINDS, 7.0),
    "summary": 14.0,
    "note": 30.0,
    "episode": 60.0,
    "fact": 120.0,
    "preference": 180.0,
    "procedure": 180.0,
    "lesson": 360.0,
}
"""Days in which the worth of a memory that nobody touches falls by half."""
ARCHIVE_BELOW: Final = 0.08
SUPERSEDED_FOR: Final = timedelta(days=90)
"""A memory that was replaced is kept in sight of `include_archived` for so long; then it is archived."""
LESSONS_LONGER: Final = 2
"""…than anything else of their tier lessons are kept, where a pool says how long."""
_AS_LONG_AS_NEEDED: Final = Retention()


def worth(memory: Memory, now: datetime, usefulness: float = 0.5) -> float:
    """How much a memory is worth keeping in sight, 0…1.

    Importance, confidence and usefulness (0…1 each, 0.5 is neutral for the last), halved with each half-life since it
    was last touched. It was touched when it happened, and when it was changed: strengthened, restored, corrected.
    """
    touched = max(memory.occurred_at, memory.updated_at)
    days = max(0.0, (now - touched).total_seconds() / 86_400)
    start = (0.25 + 0.75 * memory.importance) * (0.5 + 0.5 * memory.confidence) * (0.5 + usefulness)
    return min(1.0, start) * math.pow(0.5, days / HALF_LIFE_DAYS[memory.kind])


def due(
    memory: Memory, now: datetime, usefulness: float = 0.5, retention: Retention = _AS_LONG_AS_NEEDED
) -> str | None:
    """Why ``memory`` is to be archived now, or ``None``.

    Where its pool has a ``retention`` for its tier, that decides how long it is kept, and not what it is worth.
    """
    if memory.pinned or memory.status in ("archived", "purged", "quarantined", "disputed"):
        return None
    if memory.expires_at is not None and memory.expires_at <= now:
        return f"it expired at {memory.expires_at.isoformat()}"
    if memory.status == "superseded":
        replaced = memory.valid_to or memory.updated_at
        return "it was replaced long ago" if now - max(replaced, memory.updated_at) > SUPERSEDED_FOR else None
    drawn = memory.author == "reflection" and memory.tier == "semantic"
    if drawn and next_step(memory.status, memory.confidence, memory.updated_at, now) == "archive":
        return "too little speaks for it, for too long"
    days = getattr(retention, memory.tier)
    if days is not None:
        days *= LESSONS_LONGER if memory.kind == "lesson" else 1
        over = now - max(memory.occurred_at, memory.updated_at) >= timedelta(days=days)
        return f"its pool keeps it for {days} days" if over else None
    left = worth(memory, now, usefulness)
    return f"nobody needed it: its worth fell to {left:.2f}" if left < ARCHIVE_BELOW else None
