"""Taking a purged turn out of what came after it.

A turn is indexed together with the one before it (`turns`), so the entries of its memory hold the numbers of that one's
terms, and vectors that were made with its text. When that one is purged, this memory's newest version is appended to
the log once more, as it stands and without it, the way embeddings come later (ADR 010). Its older versions go into that
entry, without vectors, which nobody needs any more; so history stays whole, and the entries that held them are erased.

Each step finds by what stands in the log what is left to be done, so whoever goes on after a crash just begins again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from ..bus import names
from ..bus.erasing import Eraser
from ..bus.log import Log, LogRecord, WrongLastSequence, kept_in
from ..schemas import EarlierVersion, LogEntry, Unavailable
from .index import Index, IndexFilter
from .write_path import WritePath

logger = logging.getLogger(__name__)

_TRIES: Final = 16
_PAGE: Final = 64
_EARLIER_BYTES: Final = 256 * 1024
"""What one entry keeps of older versions, or else a single one: it must fit into the server's largest message."""


class Parting:
    """Parts memories from turns that are purged."""

    def __init__(self, *, log: Log, index: Index, write_path: WritePath, eraser: Eraser) -> None:
        self._log = log
        self._index = index
        self._write_path = write_path
        self._eraser = eraser

    async def from_purged(self, ids: Sequence[str]) -> list[LogEntry]:
        """Part all that was indexed together with one of ``ids``, whose tombstones are indexed; their newest entries.

        Raises:
            Unavailable: others change them all the time, or an engine is away.
        """
        parted: list[LogEntry] = []
        for start in range(0, len(ids), _PAGE):
            parted += await self._from_purged(ids[start : start + _PAGE])
        return parted

    async def _from_purged(self, ids: Sequence[str]) -> list[LogEntry]:
        parted: list[LogEntry] = []
        for _ in range(_TRIES):
            found = await self._index.find(IndexFilter(pools=None, before=tuple(ids)), limit=_PAGE)
            if not found:
                return parted
            entries = [entry for memory in found if (entry := await self.part(memory.id, memory.pool))]
            await self._index.put(entries)
            parted += entries
        raise Unavailable("what was indexed together with purged memories is being changed by many others: try again")

    async def part(self, id: str, pool: str) -> LogEntry | None:
        """Take the turn before out of all entries of a memory; its newest entry, ``None`` if it is gone itself."""
        for _ in range(_TRIES):
            record = await self._log.latest(id, pool)
            if record is None or record.entry.memory.status == "purged":
                return None
            records = await self._log.entries(id, pool)
            if all(each.seq != record.seq for each in records):
                raise Unavailable(f"the log was read where entry {record.seq} is not known yet; try again")
            replaced = _replaced(records)
            bound = [each for each in records if each.entry.before is not None]
            await self._eraser.erase(names.LOG, [each.seq for each in bound if _version(each) in replaced])
            left = [each for each in bound if _version(each) not in replaced]
            if not left:
                return record.entry
            await self._append(record, left)
        raise Unavailable(f"{id} is being changed by many others just now: try again")

    async def look(self, entries: Iterable[LogEntry]) -> None:
        """Begin to part those of ``entries``, which were just indexed, whose turn before was purged meanwhile.

        Whoever indexes the tombstone looks for them then, so one of the two finds the other. The rest belongs to
        handling the entry that is appended here.
        """
        bound = {entry.memory.id: entry for entry in entries if entry.before is not None}
        if not bound:
            return
        gone = await self._index.purged(list({entry.before.id for entry in bound.values() if entry.before}))
        for entry in bound.values():
            if entry.before and entry.before.id in gone:
                record = await self._log.latest(entry.memory.id, entry.memory.pool)
                if record is not None and record.entry.before is not None:
                    await self._append(record, [record])

    async def _append(self, record: LogRecord, left: Sequence[LogRecord]) -> None:
        """Append ``record``, the newest, once more, with as many of the older versions in ``left`` as there is room."""
        try:
            await self._write_path.part(record, _kept(left, without=_version(record)))
        except WrongLastSequence:
            logger.debug("%s was changed while it was parted from the turn before", record.entry.memory.id)


def _version(record: LogRecord) -> int:
    return record.entry.memory.version


def _replaced(records: Iterable[LogRecord]) -> set[int]:
    """The versions that stand in entries which took the place of others."""
    return {_version(each) for record in records if record.entry.earlier is not None for each in kept_in(record)}


def _kept(records: Sequence[LogRecord], *, without: int) -> list[EarlierVersion]:
    """The versions in ``records``, each once, as many as fit."""
    kept: dict[int, EarlierVersion] = {}
    room = _EARLIER_BYTES
    for record in records:
        if _version(record) == without or _version(record) in kept:
            continue
        entry = record.entry
        version = EarlierVersion(memory=entry.memory, change=entry.change, actor=entry.actor, reason=entry.reason)
        room -= len(msgspec.msgpack.encode(version))
        if kept and room < 0:
            break
        kept[_version(record)] = version
    return list(kept.values())
