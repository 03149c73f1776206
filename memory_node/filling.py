"""Embeddings made later, for memories that were written while inference was away (ADR 010).

What lacks a vector is asked of the index, so it does not matter which node wrote it, or which died before it could be
filled in; a change of the model is caught up with in the same way. The embedding goes the way of every write: the
memory's newest version is appended to the log once more, as it stands, so a rebuild has it too. It is the same version,
nobody is told, and who changes the memory meanwhile wins.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Final

from ..bus.log import Log, LogRecord
from ..schemas import AfterwitError
from .giving_way import Background
from .index import Index
from .write_path import WritePath

logger = logging.getLogger(__name__)

_BATCH: Final = 32
_LOOK_EVERY_S: Final = 60.0
"""Without being told: another node may have died before it filled in what it wrote."""
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 15.0
_AWAY_AFTER: Final = 3
_MOST_REFUSED: Final = 1000
_PATIENCE: Final = 100
"""The index may be behind the log; not so far."""


class Filling:
    """Looks for memories without a vector, and fills them in, as long as there are any and inference answers."""

    def __init__(self, index: Index, log: Log, write_path: WritePath, background: Background) -> None:
        self._index = index
        self._log = log
        self._write_path = write_path
        self._background = background
        self._refused: dict[str, None] = {}
        """Those that the embedder does not take even alone: they would hold up all others."""
        self._seen: Counter[str] = Counter()
        """How often the index has said that it lacks this vector, since it last lacked none."""

    async def run(self, stop: asyncio.Event) -> None:
        """Until ``stop`` is set. Trouble is waited out, and never ends it."""
        stopping = asyncio.create_task(stop.wait(), name="filling: stop")
        pause_s = _FIRST_PAUSE_S
        try:
            while not stop.is_set():
                most_s = _LOOK_EVERY_S
                try:
                    if await self.fill_some():
                        pause_s = _FIRST_PAUSE_S
                except AfterwitError as e:
                    logger.info("memories without an embedding wait: %s", e)
                    most_s = _LONGEST_PAUSE_S
                except Exception:  # the root of this task
                    logger.exception("filling in embeddings failed; it is tried again")
                # What was just appended, or just written without, is in the index in a moment: look again soon.
                woken = await self._pause(stopping, min(pause_s, most_s))
                pause_s = _FIRST_PAUSE_S if woken else min(pause_s * 2, _LOOK_EVERY_S)
        finally:
            stopping.cancel()
            await asyncio.wait((stopping,))

    async def fill_some(self) -> int:
        """Fill in up to a batch; how many there were.

        Raises:
            Unavailable, Quota: inference, the index or the log is away, or busy.
        """
        self._write_path.without_embedding.clear()
        ids = await self._index.without_vector(_BATCH + len(self._refused))
        waiting = [id for id in ids if id not in self._refused][:_BATCH]
        if not waiting:
            self._seen.clear()
            return 0
        records = list((await self._log.latest_many(waiting)).values())
        for id in waiting:
            self._seen[id] += 1
            if self._seen[id] == _PATIENCE:
                logger.warning("memory %s has an embedding and the index does not take it", id)
                self._refuse(id)
        try:
            async for piece in self._background.pieces(records):
                await self._write_path.fill(piece)
            return len(waiting)
        except AfterwitError:
            if len(records) < 2:
                raise
        return await self._one_by_one(records)

    async def _one_by_one(self, records: list[LogRecord]) -> int:
        """One of them may be what the embedder cannot take; if it takes none, it is away."""
        filled = 0
        errors: dict[str, AfterwitError] = {}
        for record in records:
            try:
                filled += await self._write_path.fill([record])
            except AfterwitError as e:
                errors[record.entry.memory.id] = e
                if not filled and len(errors) == _AWAY_AFTER:
                    raise
        if not filled:
            raise next(iter(errors.values()))
        for id, error in errors.items():
            logger.warning("memory %s is left without an embedding: %s", id, error)
            self._refuse(id)
        return filled

    def _refuse(self, id: str) -> None:
        del self._seen[id]
        self._refused[id] = None
        while len(self._refused) > _MOST_REFUSED:
            del self._refused[next(iter(self._refused))]

    async def _pause(self, stopping: asyncio.Task[bool], seconds: float) -> bool:
        """Until something was written without an embedding on this node (true), or it is time, or the end."""
        woken = asyncio.create_task(self._write_path.without_embedding.wait(), name="filling: woken")
        try:
            await asyncio.wait((stopping, woken), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
            await asyncio.wait((woken,))
        return not woken.cancelled()
