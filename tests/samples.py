"""Memories and entries for tests, made in one line."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import msgspec

from afterwit.memory_node.index import Hit, Stored
from afterwit.schemas import LogEntry, Memory
from afterwit.schemas.codec import encode
from afterwit.schemas.uris import memory_uri

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def new_id() -> str:
    """An id that no memory has."""
    return str(uuid.uuid4())


def memory(content: str = "a note", *, pool: str = "agent/alice", id: str | None = None, **fields: Any) -> Memory:
    """A valid memory; ``fields`` override."""
    id = id or new_id()
    defaults: dict[str, Any] = {
        "uri": memory_uri(pool, id),
        "tier": "episodic",
        "kind": "note",
        "author": "alice",
        "source": "agent",
        "trust": 0.4,
        "confidence": 0.4,
        "importance": 0.5,
        "occurred_at": NOON,
        "created_at": NOON,
        "updated_at": NOON,
        "version": 1,
    }
    return Memory(id=id, pool=pool, content=content, **(defaults | fields))


def hit(
    memory: Memory,
    *,
    semantic: float | None = 0.5,
    keyword: float = 0.5,
    before: str | None = None,
) -> Hit:
    """``memory`` as a search finds it; ``before`` is the id of the turn before it."""
    raw = encode(memory)
    if before is not None:
        raw = raw[:-1] + f',"before":"{before}"}}'.encode()
    return Hit(memory.id, semantic, keyword, semantic, Stored(memory.id, memory.seq or 1, raw))


def entry(content: str = "a note", *, pool: str = "agent/alice", **fields: Any) -> LogEntry:
    """The first version of a memory, as the log holds it."""
    return LogEntry(memory=memory(content, pool=pool, **fields), change="created", actor="alice")


def next_version(before: LogEntry, **fields: Any) -> LogEntry:
    """The version after ``before``."""
    after = msgspec.structs.replace(before.memory, version=before.memory.version + 1, **fields)
    return msgspec.structs.replace(before, memory=after, change="updated")
