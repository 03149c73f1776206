"""Purging: the tombstone goes into the log here; erasing what it stands for belongs to handling its entry."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from ...bus.log import Log, LogRecord, WrongLastSequence
from ...bus.notices import Notices, notice_of
from ...schemas import LogEntry, Memory, TimedOut, Unavailable
from ..access import Access
from ..visibility import Visibility, Watch
from .reading import readable_record

ERASED_WITHIN_S: Final = 25.0
"""How long a caller waits, who would not wait for more than half a minute."""

_TRIES: Final = 16
_NOTICES_KEPT: Final = timedelta(days=7)


class Purging:
    """Turns memories into tombstones, and waits until everything else of them is gone."""

    def __init__(
        self,
        *,
        access: Access,
        log: Log,
        notices: Notices,
        visibility: Visibility,
        clock: Callable[[], datetime],
        erased_within_s: float = ERASED_WITHIN_S,
    ) -> None:
        self._access = access
        self._log = log
        self._notices = notices
        self._visibility = visibility
        self._clock = clock
        self._erased_within_s = erased_within_s

    async def check(self, agent: str, ids: Iterable[str]) -> None:
        """Make sure that ``agent`` may purge all of ``ids``. What was purged before may be purged again.

        Raises:
            NotFound, Forbidden: it may not.
        """
        for id in ids:
            await self._purgeable(agent, id)

    async def purge(self, agent: str, ids: Sequence[str], reason: str) -> list[str]:
        """Purge all of ``ids``; answers those that were not purged before.

        Raises:
            TimedOut: nobody can read them any more, and their erasing goes on.
        """
        with ExitStack() as stack:
            watches = {id: stack.enter_context(self._visibility.watch(id)) for id in ids}
            buried = [await self._bury(agent, id, reason) for id in ids]
            deadline = asyncio.get_running_loop().time() + self._erased_within_s
            late = [record for record, _ in buried if not await self._erased(record, watches, deadline)]
        purged = [record.entry.memory.id for record, new in buried if new]
        if late:
            raise TimedOut(
                f"{len(buried)} memories are purged and cannot be read any more; what is left of {len(late)} on disk "
                "is still being erased: purge them again to wait for its end",
                purged=purged,
                erasing=[record.entry.memory.id for record in late],
            )
        return purged

    async def _bury(self, agent: str, id: str, reason: str) -> tuple[LogRecord, bool]:
        """The tombstone of ``id`` in the log, and whether it is new."""
        for _ in range(_TRIES):
            record = await self._purgeable(agent, id)
            if record.entry.memory.status == "purged":
                return record, False
            memory = _tombstone(record.entry.memory, self._clock())
            entry = LogEntry(memory=memory, change="purged", actor=agent, reason=reason)
            try:
                seq = await self._log.append(entry, expected_seq=record.seq, waited_for=True)
            except WrongLastSequence:
                continue
            return LogRecord(_at(entry, seq), seq), True
        raise Unavailable(f"{id} is being changed by many others just now: try again")

    async def _erased(self, record: LogRecord, watches: dict[str, Watch], deadline: float) -> bool:
        """Whether the notice, which comes when nothing is left, was published by ``deadline`` (loop time)."""
        memory = record.entry.memory
        if memory.updated_at < self._clock() - _NOTICES_KEPT or await self._notices.published(notice_of(record.entry)):
            return True
        return await watches[memory.id].reached(record.seq, max(0.0, deadline - asyncio.get_running_loop().time()))

    async def _purgeable(self, agent: str, id: str) -> LogRecord:
        record = await readable_record(self._log, self._access, agent, id)
        await self._access.require(agent, record.entry.memory.pool, "writer")
        return record


def _tombstone(memory: Memory, now: datetime) -> Memory:
    """What stays of a memory: which one it was, whose, and when. No digest, which would let its text be guessed."""
    return Memory(
        id=memory.id,
        uri=memory.uri,
        pool=memory.pool,
        tier=memory.tier,
        kind=memory.kind,
        content="",
        author=memory.author,
        on_behalf_of=memory.on_behalf_of,
        source=memory.source,
        trust=0.0,
        confidence=0.0,
        importance=0.0,
        status="purged",
        occurred_at=memory.created_at,
        created_at=memory.created_at,
        updated_at=now,
        version=memory.version + 1,
    )


def _at(entry: LogEntry, seq: int) -> LogEntry:
    return replace(entry, memory=replace(entry.memory, seq=seq))
