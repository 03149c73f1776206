"""`list`: going through a pool, page by page, in the order of the log."""

from __future__ import annotations

from typing import Final

import msgspec

from ...bus.log import Log, LogRecord, kept_in
from ...bus.rpc import Caller
from ...schemas import Invalid, ListedVersion, ListMemories, ListMemoriesReply
from ..access import Access, no_such_pool

_PAGE_BYTES: Final = 512 * 1024
"""A page is cut when it takes more, so that it fits into every server's largest message; one memory always fits."""


class Listing:
    """Reads pages of the log under the caller's permissions."""

    def __init__(self, *, access: Access, log: Log) -> None:
        self._access = access
        self._log = log

    async def page(self, caller: Caller, request: ListMemories) -> ListMemoriesReply:
        """Current versions, without tombstones; or all versions, tombstones too."""
        if not await self._access.may_read(caller.agent, request.pool):
            no_such_pool(request.pool)
        start = _parsed(request.cursor)
        records, after = await self._log.page(start, request.pool, request.limit)
        listed: list[ListedVersion] = []
        took = last = 0
        for record in await self._wanted(records, history=request.history):
            versions = [_listed(each) for each in (kept_in(record) if request.history else (record,))]
            took += sum(len(msgspec.json.encode(version)) for version in versions)
            if listed and took > _PAGE_BYTES:
                return ListMemoriesReply(versions=tuple(listed), cursor=str(last))
            listed += versions
            last = record.seq
        return ListMemoriesReply(versions=tuple(listed), cursor=None if after == start else str(after))

    async def _wanted(self, records: list[LogRecord], *, history: bool) -> list[LogRecord]:
        latest = await self._log.latest_many([record.entry.memory.id for record in records])

        def wanted(record: LogRecord) -> bool:
            newest = latest.get(record.entry.memory.id)
            if newest is None:
                return False
            current, purged = newest.seq <= record.seq, newest.entry.memory.status == "purged"
            if history:  # the same version once more is none of its own, but where it took the other's place
                entry = record.entry
                return (current or not purged) and (not entry.again or entry.earlier is not None)
            return current and not purged

        return [record for record in records if wanted(record)]


def _listed(record: LogRecord) -> ListedVersion:
    entry = record.entry
    return ListedVersion(memory=entry.memory, change=entry.change, actor=entry.actor, reason=entry.reason)


def _parsed(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit()) or len(cursor) > 18:
        raise Invalid("the cursor must be one from an earlier reply of list", field="cursor")
    return int(cursor)
