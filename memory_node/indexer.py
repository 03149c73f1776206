"""From the log to what can be found: index, window, notice, ack. In that order, so that a notice is never early.

Normal running, catching up, replay and rebuild are all this code. A redelivered entry changes nothing (writes are
conditional on the sequence) and sends its notice once more (at least once).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from nats.aio.msg import Msg

from ..bus.dead_letters import DeadLetters
from ..bus.log import Log, record_of
from ..bus.notices import Notices
from ..schemas import AfterwitError, LogEntry, Notice, Unavailable
from .index import Index
from .window import Window

logger = logging.getLogger(__name__)

MAX_DELIVERIES: Final = 8
"""A single entry that fails so often, for another reason than an engine that is away, is given up."""


async def fill(index: Index, log: Log, *, batch: int = 256) -> int:
    """Put the whole log into a new index, oldest first; answers how many entries. Nobody is told: nothing changed."""
    count = 0
    entries: list[LogEntry] = []
    async for record in log.replay():
        entries.append(record.entry)
        if len(entries) == batch:
            await index.put(entries)
            count += len(entries)
            entries = []
    await index.put(entries)
    return count + len(entries)


def notice_of(entry: LogEntry) -> Notice:
    """The notice of a log entry (with its ``seq`` set)."""
    memory = entry.memory
    assert memory.seq is not None
    return Notice(
        uri=memory.uri,
        pool=memory.pool,
        tier=memory.tier,
        id=memory.id,
        version=memory.version,
        seq=memory.seq,
        change=entry.change,
        actor=entry.actor,
        at=memory.updated_at,
    )


class Indexer:
    """Handles batches of the log for one node. ``on_visible`` is told of each entry as soon as it can be found."""

    def __init__(
        self,
        index: Index,
        window: Window,
        notices: Notices,
        dead: DeadLetters,
        *,
        on_visible: Callable[[Notice], None] = lambda _: None,
    ) -> None:
        self._index = index
        self._window = window
        self._notices = notices
        self._dead = dead
        self._on_visible = on_visible

    async def handle(self, messages: list[Msg]) -> None:
        """Make a batch visible and ack it. What is raised brings the batch back later (see `consume`)."""
        entries = await self._decoded(messages)
        if not entries:
            return
        try:
            await self.make_visible([entry for _, entry in entries])
        except Unavailable:
            raise  # the engine is away: nothing is wrong with the entries
        except AfterwitError as e:
            if len(entries) > 1:  # find out which entry it was
                for message, _ in entries:
                    await self.handle([message])
                return
            ((message, _),) = entries
            if message.metadata.num_delivered < MAX_DELIVERIES:
                raise
            await self._bury(message, str(e))
            return
        for message, _ in entries:
            await message.ack()

    async def make_visible(self, entries: Sequence[LogEntry]) -> None:
        """Index, put into windows, publish the notices."""
        await self._index.put(entries)
        await self._window.put(entries)  # in this order: see `ValkeyWindow`
        notices = [notice_of(entry) for entry in sorted(entries, key=lambda e: e.memory.seq or 0)]
        # Whoever waits for its write on this node need not wait until the notice has been round the bus. It goes on
        # when the loop comes to it, so the notice is sent before its answer: from here, and so in the server.
        for notice in notices:
            self._on_visible(notice)
        await self._notices.publish(notices)

    async def _decoded(self, messages: list[Msg]) -> list[tuple[Msg, LogEntry]]:
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
