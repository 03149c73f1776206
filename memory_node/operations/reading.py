"""Reading what is known by name, from the log: `get` and `history`."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ...bus.log import Log, LogRecord
from ...bus.rpc import Caller
from ...schemas import Get, GetReply, History, HistoryReply, Invalid, Memory, VersionRecord, codec
from ...schemas.uris import MemoryRef, parse_uri
from ..access import Access, no_such_memory

_BOOKKEEPING: Final = frozenset({"version", "seq", "updated_at"})
_AROUND_BYTES: Final = 128
"""Of a page, beside its versions."""


async def readable_record(log: Log, access: Access, agent: str, id: str, pool: str | None = None) -> LogRecord:
    """The latest version of a memory that ``agent`` may read.

    Raises:
        NotFound: it does not exist, or not for ``agent``: nobody can tell which.
    """
    record = await log.latest(id, pool)
    if record is None or not await access.may_read(agent, record.entry.memory.pool):
        no_such_memory(id)
    return record


async def history_of(log: Log, latest: LogRecord) -> list[LogRecord]:
    """Every version, oldest first; of a purged memory the tombstone alone, from the moment that it stands there."""
    memory = latest.entry.memory
    if memory.status == "purged":
        return [latest]
    return await log.history(memory.id, memory.pool)


class Reading:
    """Answers from the log: always current."""

    def __init__(self, *, access: Access, log: Log) -> None:
        self._access = access
        self._log = log

    async def get(self, caller: Caller, request: Get) -> GetReply:
        """One memory, in its latest version or in the one asked for."""
        id, pool = _named(request)
        record = await readable_record(self._log, self._access, caller.agent, id, pool)
        memory = record.entry.memory
        if request.version is None or request.version == memory.version:
            return GetReply(memory=memory)
        for earlier in await history_of(self._log, record):
            if earlier.entry.memory.version == request.version:
                return GetReply(memory=earlier.entry.memory)
        left = "was purged: there is but version" if memory.status == "purged" else "has versions 1 to"
        raise Invalid(f"version: {id} {left} {memory.version}", field="version", current_version=memory.version)

    async def history(self, caller: Caller, request: History) -> HistoryReply:
        """Versions, oldest first, each with what it changed: as many as there is room for in one reply."""
        told = 0 if request.cursor is None else _version_in(request.cursor)
        latest = await readable_record(self._log, self._access, caller.agent, request.id)
        records = await history_of(self._log, latest)
        limit, room = request.limit or len(records), self._log.largest - _AROUND_BYTES
        page: list[VersionRecord] = []
        for previous, record in zip((None, *records), records, strict=False):
            if record.entry.memory.version <= told:
                continue
            version = _version(previous, record)
            room -= len(msgspec.json.encode(version)) + 1
            if page and (len(page) == limit or room < 0):
                return HistoryReply(versions=tuple(page), cursor=str(page[-1].version))
            page.append(version)
        return HistoryReply(versions=tuple(page))


def _version_in(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdigit()) or len(cursor) > 18:
        raise Invalid("the cursor must be one from an earlier reply of history", field="cursor")
    return int(cursor)


def _version(previous: LogRecord | None, record: LogRecord) -> VersionRecord:
    entry = record.entry
    return VersionRecord(
        version=entry.memory.version,
        change=entry.change,
        at=entry.memory.updated_at,
        actor=entry.actor,
        reason=entry.reason,
        changes=_difference(previous.entry.memory, entry.memory) if previous else {},
    )


def _difference(old: Memory, new: Memory) -> dict[str, tuple[Any, Any]]:
    return {
        field: (codec.to_plain(getattr(old, field)), codec.to_plain(getattr(new, field)))
        for field in Memory.__struct_fields__
        if field not in _BOOKKEEPING and getattr(old, field) != getattr(new, field)
    }


def _named(request: Get) -> tuple[str, str | None]:
    if request.id is not None:
        return request.id, None
    assert request.uri is not None
    match parse_uri(request.uri):
        case MemoryRef(pool=pool, id=id, history=False):
            return id, pool
    raise Invalid(f"uri: {request.uri!r} does not name a memory", field="uri")
