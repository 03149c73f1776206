"""From the log to what can be found: index, window, notice, ack. In that order, so that a notice is never early.

Normal running, catching up, replay and rebuild are all this code. A redelivered entry changes nothing (writes are
conditional on the sequence), and a notice that was published is not published again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from nats.aio.msg import Msg

from ..bus import instrumentation
from ..bus.announcing import Announcer
from ..bus.dead_letters import DeadLetters
from ..bus.log import is_waited_for, record_of
from ..bus.notices import notice_of
from ..schemas import AfterwitError, LogEntry, Notice, Unavailable
from .erasing import Erasing
from .giving_way import Background
from .index import Index
from .window import Window

logger = logging.getLogger(__name__)

MAX_DELIVERIES: Final = 8
"""An entry that fails so often, for another reason than an engine that is away, is given up."""
_AWAY_AFTER: Final = 3
"""So many in a row that fail because the engine is away: it is, and the rest need not be tried."""
_MOST_FAILURES: Final = 4096
"""Entries whose first failure is remembered: what fails here may be indexed elsewhere, and this node is not told."""
_DELAY_S: Final = 0.25
_LONGEST_DELAY_S: Final = 10.0


class Indexer:
    """Handles batches of the log for one node.

    ``on_visible`` is told of each entry as soon as it can be found, ``on_indexed`` of all that were indexed together.
    """

    def __init__(  # noqa: PLR0913  # each is another step of an entry's way
        self,
        index: Index,
        window: Window,
        announcer: Announcer,
        dead: DeadLetters,
        erasing: Erasing,
        background: Background,
        *,
        on_visible: Callable[[Notice], None] = lambda _: None,
        on_indexed: Callable[[Sequence[LogEntry]], None] = lambda _: None,
    ) -> None:
        self._index = index
        self._window = window
        self._announcer = announcer
        self._dead = dead
        self._erasing = erasing
        self._background = background
        self._turn = asyncio.Lock()
        self._succeeded = 0
        self._first_failures: dict[int, int] = {}  # how many had succeeded when an entry first failed
        self._on_visible = on_visible
        self._on_indexed = on_indexed

    @property
    def indexed(self) -> int:
        """How many entries it has made visible."""
        return self._succeeded

    async def handle(self, messages: list[Msg]) -> None:
        """Make a batch visible and ack it. What is raised brings back what is left of it later (see `consume`).

        It may be called again before it has returned: what somebody waits for is indexed at once, all of it together.
        The rest has its turn, in pieces which give way.
        """
        first = [message for message in messages if is_waited_for(message)]
        rest = [message for message in messages if not is_waited_for(message)]
        if first:
            await self._handle(first)
        async with self._turn:
            async for piece in self._background.pieces(rest):
                await self._handle(piece)

    async def _handle(self, messages: Sequence[Msg]) -> None:
        entries = await self._decoded(messages)
        if not entries:
            return
        try:
            await self._settle(entries)
        except Exception as e:  # noqa: BLE001  # the root of this work: it may be one entry's fault alone
            if len(entries) == 1:
                await self._failed(entries[0][0], e)
            else:
                await self._settle_each(entries)

    async def make_visible(self, entries: Sequence[LogEntry]) -> None:
        """Index, put into windows, publish notices; none of a tombstone, and none of a version once more."""
        await self._put(entries)
        await self._tell([entry for entry in entries if entry.change != "purged" and not entry.again])

    async def _settle(self, entries: Sequence[tuple[Msg, LogEntry]]) -> None:
        await self.make_visible([entry for _, entry in entries])
        await self._erasing.look([entry for _, entry in entries])
        self._succeeded += len(entries)
        oldest = min(message.metadata.timestamp for message, _ in entries)
        instrumentation.indexed(len(entries), oldest)
        for message, entry in entries:
            self._first_failures.pop(message.metadata.sequence.stream, None)
            if entry.change == "purged" or entry.earlier is not None:
                self._erasing.take(message, entry)
            else:
                await message.ack()

    async def _settle_each(self, entries: Sequence[tuple[Msg, LogEntry]]) -> None:
        """One by one, so that one that cannot be indexed holds up none behind it."""
        away = 0
        for message, entry in entries:
            try:
                await self._settle([(message, entry)])
                away = 0
            except Exception as e:  # as in `handle`
                away = away + 1 if isinstance(e, Unavailable) else 0
                if away == _AWAY_AFTER:
                    raise
                await self._failed(message, e)

    async def _failed(self, message: Msg, error: Exception) -> None:
        """Try again later; give up what fails again and again while others succeed.

        An engine that refuses an entry is told from one that is away, or full, by what became of the others.
        """
        delivery = message.metadata
        before = self._first_failures.setdefault(delivery.sequence.stream, self._succeeded)
        if len(self._first_failures) > _MOST_FAILURES:
            del self._first_failures[next(iter(self._first_failures))]
        others_succeed = self._succeeded > before
        if delivery.num_delivered >= MAX_DELIVERIES and (others_succeed or not isinstance(error, Unavailable)):
            self._first_failures.pop(delivery.sequence.stream)
            await self._bury(message, f"{type(error).__name__}: {error}")
            return
        logger.warning("log entry %d is not indexed and comes again: %s", delivery.sequence.stream, error)
        await message.nak(delay=min(_DELAY_S * delivery.num_delivered, _LONGEST_DELAY_S))

    async def _put(self, entries: Sequence[LogEntry]) -> None:
        await self._index.put(entries)
        await self._window.put(entries)  # in this order: see `ValkeyWindow`
        self._on_indexed(entries)

    async def _tell(self, entries: Sequence[LogEntry]) -> None:
        # Whoever waits for its write on this node need not wait until the notice has been round the bus.
        in_order = sorted(entries, key=lambda each: each.memory.seq or 0)
        for entry in in_order:
            self._on_visible(notice_of(entry))
        await self._announcer.announce(in_order)

    async def _decoded(self, messages: Sequence[Msg]) -> list[tuple[Msg, LogEntry]]:
        entries = []
        for message in messages:
            try:
                entries.append((message, record_of(message).entry))
            except AfterwitError as e:
                await self._bury(message, str(e))
        return entries

    async def _bury(self, message: Msg, reason: str) -> None:
        logger.error("log entry %d goes to the dead letters: %s", message.metadata.sequence.stream, reason)
        await self._dead.bury("log", message.subject, message.data, reason)
        await message.term()
