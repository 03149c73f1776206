"""What became of memories that were retrieved: counts of help and harm, kept for each, and known by every node.

The counts are in a bucket that outlives usage records. Each node holds a copy and looks for what is new every few
seconds: ranking may learn of feedback so much later, and asks for nothing on its way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

import msgspec
from nats.aio.client import Client

from ..schemas import AfterwitError, Unavailable
from . import names
from .direct import Reader
from .identity._bucket import Bucket, LostRaceError

log = logging.getLogger(__name__)

NEUTRAL: Final = 0.5
LOOKS_AGAIN_AFTER_S: Final = 5.0
"""Until a node knows what another one has counted."""
_PRIOR: Final = 2
"""As many opinions on either side stand before the first real one: a single one moves little."""
_ATTEMPTS: Final = 16


class Counts(msgspec.Struct, frozen=True):
    """How often a memory helped and misled."""

    helped: int = 0
    misled: int = 0

    @property
    def usefulness(self) -> float:
        """0…1; 0.5 for what nobody said anything about."""
        return (self.helped + _PRIOR) / (self.helped + self.misled + 2 * _PRIOR)


_DECODER: Final = msgspec.json.Decoder(Counts)


class Usefulness:
    """An async context manager: while it is open, `of` knows what all nodes have counted."""

    def __init__(self, nc: Client) -> None:
        self._bucket = Bucket(nc, names.USEFULNESS)
        self._reader = Reader(nc, names.kv_stream(names.USEFULNESS))
        self._prefix = names.kv_subject(names.USEFULNESS, "")
        self._known: dict[str, Counts] = {}
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._watching = asyncio.create_task(self._watch(), name="usefulness")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    def of(self, id: str) -> float:
        """How useful a memory has been, 0…1."""
        counts = self._known.get(id)
        return NEUTRAL if counts is None else counts.usefulness

    async def count(self, changes: Mapping[str, Counts]) -> None:
        """Add to the counts of each memory; what is taken back is negative.

        Raises:
            Unavailable, TimedOut: the bucket does not take it now.
        """
        for id, change in changes.items():
            await self._add(id, change)

    async def _add(self, id: str, change: Counts) -> None:
        for _ in range(_ATTEMPTS):
            entry = await self._bucket.get(id)
            now = _DECODER.decode(entry.value) if entry is not None and entry.value else Counts()
            counts = Counts(max(0, now.helped + change.helped), max(0, now.misled + change.misled))
            try:
                await self._bucket.put(id, msgspec.json.encode(counts), expected=entry.revision if entry else 0)
            except LostRaceError:
                continue
            self._known[id] = counts
            return
        raise Unavailable(f"the usefulness of {id} is being changed by many others just now: try again")

    async def _watch(self) -> None:
        seen = 0
        while True:
            try:
                async for stored in self._reader.scan(after=seen, subject=self._prefix + ">"):
                    seen = stored.seq
                    self._see(stored.subject.removeprefix(self._prefix), stored.data)
            except AfterwitError as e:
                log.warning("what memories were good for is not known anew for now: %s", e)
            await asyncio.sleep(LOOKS_AGAIN_AFTER_S)

    def _see(self, id: str, value: bytes) -> None:
        if value:
            self._known[id] = _DECODER.decode(value)
        else:
            self._known.pop(id, None)
