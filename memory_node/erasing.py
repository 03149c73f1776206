"""Finishing purges: once a tombstone stands in the log, everything that its memory ever held is erased.

That belongs to handling the tombstone's entry, as indexing belongs to handling any other: the entry is acknowledged,
and its notice published, when nothing is left. So a node that dies in between is caught up by whoever gets the entry
next, there is no leader, and the notice says that the purge is done. It happens beside the indexer, which goes on.

The order matters: the earlier versions in the log say what to look for, so they go after the rest; the index is copied
to another place as it is by then, so it comes after that. The ingest stream comes last: what was acknowledged there
goes when what was queued with it is stored.

An entry that stands in the place of others, made without a turn that was purged (`parting`), is handled here as well.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from types import TracebackType
from typing import Final, Self

from msgspec.structs import replace
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from ..bus import names
from ..bus.announcing import Announcer
from ..bus.erasing import Eraser
from ..bus.jobs import Jobs
from ..bus.log import Log
from ..bus.notices import KEPT, notice_of
from ..schemas import AfterwitError, LogEntry, Memory, Notice
from .giving_way import Background
from .index import Index
from .parting import Parting
from .rebuilding import batches_of
from .traces import forms
from .window import Window

logger = logging.getLogger(__name__)

_KEEP_EVERY_S: Final = 3.0
_RETRY_DELAY_S: Final = 5.0
_WASHED_WITHIN_S: Final = 3600.0
"""A bulk import that is under way is stored in about that time; then there is another attempt."""
_MOST_PARTED: Final = 4096
"""Entries that are known to be finished: one that comes to another node is not heard of again, and one that is
forgotten is finished a second time, which changes nothing."""
_SAYS_SOMETHING: Final = 16
"""Characters. A usage record or dead letter that holds a shorter text need not have it from this memory."""


class _Held:
    """An erasing that was begun: the entry that asks for it, in its latest delivery."""

    def __init__(self, message: Msg, entry: LogEntry) -> None:
        self.message = message
        self.entry = entry


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
        parting: Parting,
        jobs: Jobs,
        background: Background,
        clock: Callable[[], datetime],
        on_visible: Callable[[Notice], None],
    ) -> None:
        self._log = log
        self._index = index
        self._window = window
        self._announcer = announcer
        self._eraser = eraser
        self._parting = parting
        self._jobs = jobs
        self._background = background
        self._clock = clock
        self._on_visible = on_visible
        self._held: dict[int, _Held] = {}
        self._waiting: list[int] = []
        self._parted: dict[int, None] = {}
        """Where entries stand that were appended, and finished, together with a tombstone, oldest first."""
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

    async def look(self, entries: Sequence[LogEntry]) -> None:
        """See to those of ``entries``, which were just indexed, that were made with a turn which is purged by now."""
        await self._parting.look(entries)

    def take(self, message: Msg, entry: LogEntry) -> None:
        """Erase what ``entry`` stands in the place of, then acknowledge ``message``, which brought it."""
        seq = _seq(entry)
        if seq in self._held:  # delivered again while it is being worked on
            self._held[seq].message = message
            return
        self._held[seq] = _Held(message, entry)
        self._waiting.append(seq)
        self._wake.set()

    def _begin(self, work: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            seqs, self._waiting = self._waiting, []
            async with self._given_back_on_failure(seqs):
                entries = [self._held[seq].entry for seq in seqs if seq not in self._parted]
                tombstones = [entry for entry in entries if entry.change == "purged"]
                parted = [entry for entry in entries if entry.change != "purged"]
                if entries:
                    await self._erase(tombstones, parted)
                # The ingest stream may take its time to be rid of what it holds; who comes next need not wait for that.
                self._begin(self._finish(seqs, tombstones), "erasing: finish")

    async def _finish(self, seqs: Sequence[int], tombstones: Sequence[LogEntry]) -> None:
        async with self._given_back_on_failure(seqs):
            if tombstones:
                await self._eraser.wash(names.INGEST, names.INGEST_FILLER, within_s=_WASHED_WITHIN_S)
                await self._announcer.announce(tombstones)
                for tombstone in tombstones:
                    self._on_visible(notice_of(tombstone))
                logger.info("%d memories are purged", len(tombstones))
            for seq in seqs:
                await self._held.pop(seq).message.ack()
                self._parted.pop(seq, None)

    @asynccontextmanager
    async def _given_back_on_failure(self, seqs: Sequence[int]) -> AsyncIterator[None]:
        """What fails is taken up again some seconds later, by this node or another, for as long as it takes."""
        try:
            yield
            return
        except (AfterwitError, NatsError, OSError) as e:
            logger.warning("%d purges are not finished and will be taken up again: %s", len(seqs), e)
        except Exception:
            logger.exception("%d purges failed and will be taken up again", len(seqs))
        for seq in seqs:
            if held := self._held.pop(seq, None):
                try:
                    await held.message.nak(delay=_RETRY_DELAY_S)
                except NatsError as e:
                    logger.info("a purge will be delivered again: %s", e)

    async def _erase(self, tombstones: Sequence[LogEntry], parted: Sequence[LogEntry]) -> None:
        """Everywhere but in the ingest stream."""
        for entry in parted:
            await self._parting.part(entry.memory.id, entry.memory.pool)
        if tombstones:
            parted = [*parted, *await self._forget(tombstones)]
        # An entry that was erased before it was handled is not told of any more by who would have handled it.
        since = self._clock() - KEPT
        await self._announcer.announce([entry for entry in parted if entry.memory.updated_at >= since])
        if self._index.created:  # it may lack what the log holds
            await self._index.rebuilt(batches_of(self._log, self._background))
        else:
            await self._index.renewed(self._background.pieces)
        self._parted |= dict.fromkeys(map(_seq, parted))
        while len(self._parted) > _MOST_PARTED:
            del self._parted[next(iter(self._parted))]

    async def _forget(self, tombstones: Sequence[LogEntry]) -> list[LogEntry]:
        """Everything but the index's directory forgets; answers entries without them that took the place of others."""
        earlier = [version for tombstone in tombstones for version in await self._earlier(tombstone)]
        await self._window.put([*tombstones, *_in_sessions(tombstones, earlier)])
        mentions = _mentions(earlier)
        await self._eraser.erase_mentions(names.DEAD, [*mentions, *(t.memory.id.encode() for t in tombstones)])
        if mentions:
            await self._eraser.erase_mentions(names.USAGE, mentions)
        await self._jobs.forget([tombstone.memory.id for tombstone in tombstones], mentions, self._clock())
        parted = await self._parting.from_purged([tombstone.memory.id for tombstone in tombstones])
        for tombstone in tombstones:
            memory = tombstone.memory
            await self._eraser.erase_earlier(names.LOG, names.log(memory.pool, memory.id), _seq(tombstone))
        return parted

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


def _seq(entry: LogEntry) -> int:
    assert entry.memory.seq is not None
    return entry.memory.seq


def _in_sessions(tombstones: Iterable[LogEntry], earlier: Iterable[Memory]) -> list[LogEntry]:
    """The tombstones as the windows know their memories: a tombstone does not say in which session that was."""
    of = {tombstone.memory.id: tombstone for tombstone in tombstones}
    return [
        replace(of[version.id], memory=replace(of[version.id].memory, session_id=version.session_id))
        for version in earlier
        if version.session_id is not None
    ]


def _mentions(earlier: Iterable[Memory]) -> list[bytes]:
    """What to look for in what others wrote: texts long enough to be these memories' own."""
    texts = {version.content for version in earlier if len(version.content) >= _SAYS_SOMETHING}
    return [form for text in texts for form in forms(text).values()]
