"""Reading what is known by name, from the log: `get` and `history`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...bus.log import Log, LogRecord
from ...bus.rpc import Caller
from ...schemas import Get, GetReply, History, HistoryReply, Invalid, Memory, VersionRecord, codec
from ...schemas.uris import MemoryRef, parse_uri
from ..access import Access, no_such_memory

_BOOKKEEPING: Final = frozenset({"version", "seq", "updated_at"})


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
        """Every version, oldest first, each with what it changed."""
        latest = await readable_record(self._log, self._access, caller.agent, request.id)
        return HistoryReply(versions=version_records(await history_of(self._log, latest)))


def version_records(records: Sequence[LogRecord]) -> tuple[VersionRecord, ...]:
    """The history that log records tell."""
    before: list[Memory | None] = [None, *(record.entry.memory for record in records)]
    return tuple(
        VersionRecord(
            version=record.entry.memory.version,
            at=record.entry.memory.updated_at,
            actor=record.entry.actor,
            reason=record.entry.reason,
            changes=_difference(previous, record.entry.memory) if previous else {},
        )
        for previous, record in zip(before, records, strict=False)
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
