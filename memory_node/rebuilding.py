"""Building the views anew from the log, while serving."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Sequence
from typing import Final

from ..bus.log import Log
from ..schemas import LogEntry
from ..schemas.admin import IndexContent, Rebuild, RebuildReply
from .giving_way import Background
from .index import Checksum, Index
from .window import Window

logger = logging.getLogger(__name__)

_BATCH: Final = 256


async def batches_of(log: Log, background: Background) -> AsyncIterator[Sequence[LogEntry]]:
    """The whole log, oldest first, in pieces. What is no entry is passed over: the indexer has buried it."""
    entries: list[LogEntry] = []
    async for record in log.replay():
        entries.append(record.entry)
        if len(entries) == _BATCH:
            async for piece in background.pieces(entries):
                yield piece
            entries = []
    async for piece in background.pieces(entries):
        yield piece


class Rebuilding:
    """Throws index and windows away and builds them anew, in answer to an operator."""

    def __init__(self, log: Log, index: Index, window: Window, background: Background) -> None:
        self._log = log
        self._index = index
        self._window = window
        self._background = background

    async def rebuild(self, request: Rebuild) -> RebuildReply:
        """Index and windows as the log says they are. Nobody is told: for others nothing changed."""
        before = await self._index.checksum()
        started = time.perf_counter()
        entries = await self._index.rebuilt(batches_of(self._log, self._background))
        await self._window.clear()  # each is filled from the index when it is next read
        took_s = time.perf_counter() - started
        after = await self._index.checksum()
        logger.info("the index was built anew from %d entries in %.1f s", entries, took_s)
        return RebuildReply(entries=entries, took_s=took_s, before=_content(before), after=_content(after))


def _content(checksum: Checksum) -> IndexContent:
    return IndexContent(memories=checksum.memories, checksum=checksum.digest)
