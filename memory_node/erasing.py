"""Finishing purges: once a tombstone stands in the log, everything that its memory ever held is erased.

That belongs to handling the tombstone's entry, as indexing belongs to handling any other: the entry is acknowledged,
and its notice published, when nothing is left. So a node that dies in between is caught up by whoever gets the entry
next, there is no leader, and the notice says that the purge is done. It happens beside the indexer, which goes on.

The order matters: the earlier versions in the log say what to look for, so they go after the rest; the index is built
anew from the log, so it comes after that. The ingest stream comes last: what was acknowledged there goes when what was
queued with it is stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Final, Self

from msgspec.structs import replace
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from ..bus import names
from ..bus.announcing import Announcer
from ..bus.erasing import Eraser
from ..bus.log import Log
from ..bus.notices import notice_of
from ..schemas import AfterwitError, LogEntry, Memory, Notice
from .giving_way import Background
from .index import Index
from .rebuilding import batches_of
from .traces import forms
from .window import Window

logger = logging.getLogger(__name__)

_KEEP_EVERY_S: Final = 3.0
_RETRY_DELAY_S: Final = 5.0
_WASHED_WITHIN_S: Final = 3600.0
"""A bulk import that is under way is stored in about that time; then there is another attempt."""
_SAYS_SOMETHING: Final = 16
"""Characters. A usage record or dead letter that holds a shorter text need not have it from this memory."""


class _Held:
    """A purge that was begun: the entry that asks for it, in its latest delivery."""

    def __init__(self, message: Msg, tombstone: LogEntry) -> None:
        self.message = message
        self.tombstone = tombstone


class Erasing:
    """Erases what tombstones stand for, those that wait together in one go."""

    def __init__(  # noqa: PLR0913  # each is another place that is to forget
        self,
        *,
        log: Log,
        index: Index,
        window: Window,
        announcer: Announcer,
        eraser: Eraser,
        background: Background,
        on_visible: Callable[[Notice], None],
    ) -> None:
        self._log = log
        self._index = index
        self._window = window
        self._announcer = announcer
        self._eraser = eraser
        self._background = background
        self._on_visible = on_visible
        self._held: dict[str, _Held] = {}
        self._waiting: list[str] = []
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._begin(self._work(), "erasing")
        self._begin(self._keep(), "erasing: keep")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        """What is under way is broken off: its entries come again, to whichever node."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    def take(self, message: Msg, tombstone: LogEntry) -> None:
        """Erase what ``tombstone`` stands for, then acknowledge ``message``, which brought it."""
        id = tombstone.memory.id
        if id in self._held:  # delivered again while it is being worked on
            self._held[id].message = message
            return
        self._held[id] = _Held(message, tombstone)
        self._waiting.append(id)
        self._wake.set()

    def _begin(self, work: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            ids, self._waiting = self._waiting, []
            async with self._given_back_on_failure(ids):
                await self._erase([self._held[id].tombstone for id in ids])
                # The ingest stream may take its time to be rid of what it holds; who comes next need not wait for that.
                self._begin(self._finish(ids), "erasing: finish")

    async def _finish(self, ids: Sequence[str]) -> None:
        async with self._given_back_on_failure(ids):
            await self._eraser.wash(names.INGEST, names.INGEST_FILLER, within_s=_WASHED_WITHIN_S)
            tombstones = [self._held[id].tombstone for id in ids]
            await self._announcer.announce(tombstones)
            for tombstone in tombstones:
                self._on_visible(notice_of(tombstone))
            for id in ids:
                await self._held.pop(id).message.ack()
            logger.info("%d memories are purged", len(ids))

    @asynccontextmanager
    async def _given_back_on_failure(self, ids: Sequence[str]) -> AsyncIterator[None]:
        """What fails is taken up again some seconds later, by this node or another, for as long as it takes."""
        try:
            yield
            return
        except (AfterwitError, NatsError, OSError) as e:
            logger.warning("%d purges are not finished and will be taken up again: %s", len(ids), e)
        except Exception:
            logger.exception("%d purges failed and will be taken up again", len(ids))
        for id in ids:
            if held := self._held.pop(id, None):
                try:
                    await held.message.nak(delay=_RETRY_DELAY_S)
                except NatsError as e:
                    logger.info("a purge will be delivered again: %s", e)

    async def _erase(self, tombstones: Sequence[LogEntry]) -> None:
        """Everywhere but in the ingest stream."""
        earlier = [version for tombstone in tombstones for version in await self._earlier(tombstone)]
        await self._window.put([*tombstones, *_in_sessions(tombstones, earlier)])
        mentions = _mentions(tombstones, earlier)
        await self._eraser.erase_mentions(names.DEAD, [*mentions, *(t.memory.id.encode() for t in tombstones)])
        if mentions:
            await self._eraser.erase_mentions(names.USAGE, mentions)
        for tombstone in tombstones:
            await self._eraser.erase_earlier(names.LOG, *_place(tombstone))
        await self._index.rebuilt(batches_of(self._log, self._background))

    async def _earlier(self, tombstone: LogEntry) -> list[Memory]:
        memory = tombstone.memory
        history = await self._log.history(memory.id, memory.pool)
        return [record.entry.memory for record in history if record.entry.memory.status != "purged"]

    async def _keep(self) -> None:
        """Tell the server from time to time that the entries that are held are being worked on."""
        while True:
            await asyncio.sleep(_KEEP_EVERY_S)
            for held in list(self._held.values()):
                try:
                    await held.message.in_progress()
                except NatsError as e:
                    logger.info("a purge will be delivered again: %s", e)


def _place(tombstone: LogEntry) -> tuple[str, int]:
    """Its subject and its sequence."""
    memory = tombstone.memory
    assert memory.seq is not None
    return names.log(memory.pool, memory.id), memory.seq


def _in_sessions(tombstones: Iterable[LogEntry], earlier: Iterable[Memory]) -> list[LogEntry]:
    """The tombstones as the windows know their memories: a tombstone does not say in which session that was."""
    of = {tombstone.memory.id: tombstone for tombstone in tombstones}
    return [
        replace(of[version.id], memory=replace(of[version.id].memory, session_id=version.session_id))
        for version in earlier
        if version.session_id is not None
    ]


def _mentions(tombstones: Iterable[LogEntry], earlier: Iterable[Memory]) -> list[bytes]:
    """What to look for in what others wrote: texts long enough to be these memories' own."""
    texts = {version.content for version in earlier if len(version.content) >= _SAYS_SOMETHING}
    return [form for text in texts for form in forms(text).values()]
