"""What a reflector is given, and what it answers: one interface for rules and language models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from ...bus.jobs import Job
from ...schemas import Memory
from ...schemas.reflection import ReflectOperation

MOST_OPERATIONS: Final = 64
"""…of one job; what a reflector asks for beyond is refused."""


@dataclass(frozen=True, slots=True)
class Material:
    """All that a job is about, as far as its agent may read it.

    ``events`` are the session's in order, ``episodes`` and ``knowledge`` what the pool that the job writes to holds
    beside them (oldest first).
    """

    job: Job
    pool: str
    now: datetime
    events: Sequence[Memory] = ()
    episodes: Sequence[Memory] = ()
    knowledge: Sequence[Memory] = ()

    @property
    def memories(self) -> dict[str, Memory]:
        """Everything by id."""
        return {memory.id: memory for memory in (*self.events, *self.episodes, *self.knowledge)}


class BadOutput(Exception):
    """What the reflector said cannot be used; trying again is no use."""


class Reflector(Protocol):
    """Reads the material and asks for operations. It changes nothing itself."""

    @property
    def name(self) -> str:
        """What stands in the provenance of what it writes."""
        ...

    async def reflect(self, material: Material) -> list[ReflectOperation]:
        """What should be kept, corrected, let go and connected.

        Raises:
            BadOutput: it said nothing that can be used.
            Unavailable, TimedOut: it may do better later.
        """
        ...
