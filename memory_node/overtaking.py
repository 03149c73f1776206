"""One agent's long import does not hold up what others bring: they overtake it.

The ingest stream is one queue. While it is long, it is looked from time to time who else has something in it, and the
oldest of that is stored as if its turn had come. Should the queue bring it meanwhile, on this node or another, it is
the same memory: its id follows from its key, or from its place in the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

from ..bus.direct import Stored
from ..bus.ingest import Waiting
from .ingest import IngestWorker
from .repeating import repeated

LONG: Final = 256
"""Items; a shorter queue is not worth looking past."""
MOST: Final = 64
"""Items of one agent that overtake at a time."""
_EVERY_S: Final = 0.5


class Overtaking:
    """Looks past the queue while it is long."""

    def __init__(self, waiting: Waiting, worker: IngestWorker) -> None:
        self._waiting = waiting
        self._worker = worker

    async def run(self, stop: asyncio.Event) -> None:
        """Until ``stop`` is set."""

        async def look() -> None:
            if self._worker.behind >= LONG:
                await self.look()

        await repeated(look, _EVERY_S, stop, what="looking past the ingest queue")

    async def look(self) -> None:
        """Store the oldest items of each agent whose items the queue does not bring just now."""
        for agent, subjects in (await self._waiting.agents()).items():
            if agent in self._worker.agents:
                continue
            found = [stored for subject in subjects[:MOST] for stored in await self._waiting.oldest(subject, MOST)]
            oldest = sorted(found, key=lambda stored: stored.seq)[:MOST]
            due = [_Early(stored, self._waiting) for stored in oldest if not self._worker.is_parked(stored.seq)]
            if due:
                await self._worker.handle(due)


@dataclass(frozen=True, slots=True)
class _Early:
    """See `Queued`. One that cannot be stored now stays where it is in the queue."""

    stored: Stored
    waiting: Waiting

    @property
    def subject(self) -> str:
        return self.stored.subject

    @property
    def data(self) -> bytes:
        return self.stored.data

    @property
    def headers(self) -> Mapping[str, str]:
        """Its own: those that the server adds tell of the read."""
        return {name: value for name, value in self.stored.headers.items() if not name.startswith("Nats-")}

    @property
    def metadata(self) -> Any:
        return SimpleNamespace(sequence=SimpleNamespace(stream=self.stored.seq), num_delivered=1)

    async def ack(self) -> None:
        await self.waiting.remove(self.stored.seq)

    async def nak(self, delay: float | None = None) -> None:
        pass
