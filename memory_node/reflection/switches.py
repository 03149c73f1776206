"""What sets off looking back, as settings have it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """Which triggers are on. ``idle_s``: a session without events for so long has ended (0: none does)."""

    session_end: bool = True
    overflow: bool = True
    recurrence: bool = True
    schedule: bool = True
    asked: bool = True
    every_s: float = 86_400.0
    idle_s: float = 1800.0
