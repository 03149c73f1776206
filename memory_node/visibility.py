"""Waiting until a write can be found: this node's indexer says so, or a notice does if another node's was faster."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from ..bus.log import Log
from ..schemas import Notice, Unavailable
from .giving_way import Way
from .index import Index


class Watch:
    """Watches one memory. Begin before the write is appended, so that no notice can slip by."""

    def __init__(self) -> None:
        self._seen = 0
        self._wanted: int | None = None
        self._done = asyncio.Event()

    def see(self, seq: int) -> None:
        """A notice said that version ``seq`` can be read."""
        self._seen = max(self._seen, seq)
        if self._wanted is not None and self._seen >= self._wanted:
            self._done.set()

    async def reached(self, seq: int, timeout_s: float) -> bool:
        """Whether ``seq``, or a later version, became visible within ``timeout_s`` seconds."""
        self._wanted = seq
        if self._seen >= seq:
            return True
        try:
            async with asyncio.timeout(timeout_s):
                await self._done.wait()
        except TimeoutError:
            return False
        return True


class Visibility:
    """Hands notices to those who wait for them."""

    def __init__(self) -> None:
        self._watches: dict[str, list[Watch]] = {}

    def on_notice(self, notice: Notice) -> None:
        """Every notice comes by here; one of this node's own twice: once it can be found, and from the bus."""
        for watch in self._watches.get(notice.id, ()):
            watch.see(notice.seq)

    @contextmanager
    def watch(self, id: str) -> Iterator[Watch]:
        """Watch the memory ``id`` for as long as the block runs."""
        watch = Watch()
        watches = self._watches.setdefault(id, [])
        watches.append(watch)
        try:
            yield watch
        finally:
            watches.remove(watch)
            if not watches:
                del self._watches[id]


class SeqWaiter:
    """Waits for a place in the log: for callers who bring the ``seq`` of a write that they saw elsewhere."""

    def __init__(self, log: Log, index: Index, visibility: Visibility, way: Way) -> None:
        self._log = log
        self._index = index
        self._visibility = visibility
        self._way = way

    async def visible(self, seq: int, timeout_s: float) -> bool:
        """Whether the entry at ``seq`` (or a later version of its memory) can be found, at the latest in ``timeout_s``.

        A place that the log has not reached yet is false at once: nobody can have seen it. What was erased there went
        when what took its place could be found.
        """
        record = await self._log.at(seq)
        if record is None:
            return seq < await self._log.last_seq()
        id = record.entry.memory.id
        with self._visibility.watch(id) as watch:
            try:
                if (await self._index.seqs([id])).get(id, 0) >= seq:
                    return True
            except Unavailable:  # nothing can be found now; whoever asks goes on without
                return False
            with self._way.waiting():
                return await watch.reached(seq, timeout_s)
