"""Who changed what, when and why: in a whole pool, or of one memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import msgspec

from ..schemas import Get, GetReply, History, HistoryReply, VersionRecord
from .client import BusClient
from .moving import exported


class Audited(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a memory, without its content: ``status``, ``author`` and ``on_behalf_of`` as they were then."""

    at: datetime
    actor: str
    change: str
    id: str
    version: int
    status: str
    author: str
    on_behalf_of: str | None
    reason: str | None


async def audited_pool(bus: BusClient, pool: str) -> AsyncIterator[Audited]:
    """Every version in ``pool``, in the order of the log.

    Raises:
        NotFound: the pool is not there for the agent.
    """
    async for listed in exported(bus, [pool], history=True):
        memory = listed.memory
        yield Audited(
            at=memory.updated_at,
            actor=listed.actor,
            change=listed.change,
            id=memory.id,
            version=memory.version,
            status=memory.status,
            author=memory.author,
            on_behalf_of=memory.on_behalf_of,
            reason=listed.reason,
        )


async def audited_memory(bus: BusClient, id: str) -> list[Audited]:
    """Every version of one memory, oldest first. Its pool, which may hold a million others, is not gone through.

    Raises:
        NotFound: the memory is not there for the agent.
    """
    versions: list[VersionRecord] = []
    cursor: str | None = None
    while True:
        page: HistoryReply = await bus.call("history", History(id=id, cursor=cursor), HistoryReply)
        versions += page.versions
        cursor = page.cursor
        if cursor is None:
            break
    newest = (await bus.call("get", Get(id=id, version=versions[-1].version), GetReply)).memory
    then: dict[str, Any] = {"status": newest.status, "author": newest.author, "on_behalf_of": newest.on_behalf_of}
    found = []
    for each in reversed(versions):
        found.append(
            Audited(
                at=each.at,
                actor=each.actor,
                change=each.change,
                id=id,
                version=each.version,
                reason=each.reason,
                **then,
            )
        )
        then |= {field: old for field, (old, _) in each.changes.items() if field in then}
    return found[::-1]
