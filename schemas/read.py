"""Reading what is known by name: `get`, `history`, `context`, `list`."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from .errors import Invalid
from .memory import Memory
from .words import Budget, Change, MemoryId, MemoryUri, PoolName, SessionId, Time, Version


class Get(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Read one memory, from the log: always its current version, or the one asked for."""

    uri: MemoryUri | None = None
    id: MemoryId | None = None
    version: Version | None = None

    def __post_init__(self) -> None:
        if (self.uri is None) == (self.id is None):
            raise Invalid("give either uri or id", field="uri")


class GetReply(msgspec.Struct, frozen=True, kw_only=True):
    """The memory."""

    memory: Memory


class History(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every version of a memory, oldest first: who changed what, and when; page by page where there are many."""

    id: MemoryId
    cursor: Annotated[str, Meta(max_length=64, description="From the last page; left out: the beginning.")] | None = (
        None
    )
    limit: Annotated[int, Meta(ge=1, le=256, description="Left out: as many as one reply has room for.")] | None = None


class VersionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One version; ``changes`` maps a field to [old, new]. It is empty for the first, and where nothing differs."""

    version: int
    change: Change
    at: Time
    actor: str
    reason: str | None = None
    changes: dict[str, tuple[Any, Any]] = {}


class HistoryReply(msgspec.Struct, frozen=True, kw_only=True):
    """Oldest first. ``cursor`` is where the next page begins, and null at the end."""

    versions: tuple[VersionRecord, ...]
    cursor: str | None = None


class Context(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The working set of one of the caller's sessions: what to put in front of the model now."""

    session_id: SessionId
    max_tokens: Annotated[
        Budget | None, Meta(description="Left out: 0.4 of the model's context, and 8000 at most.")
    ] = None


class ContextReply(msgspec.Struct, frozen=True, kw_only=True):
    """``turns`` are the best in the order in which they happened, ``summary`` what of the others must not be lost.

    ``lessons`` are lessons and preferences that fit the latest turns; ``tokens`` is what all of it takes together, data
    included. The data of ``without_data`` is too big, or found no room: each is one read of its URI away.
    """

    session_id: str
    turns: tuple[Memory, ...]
    summary: str | None = None
    lessons: tuple[Memory, ...] = ()
    tokens: int
    without_data: tuple[MemoryId, ...] = ()


class ListMemories(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Go through a pool, in the order of the log: its memories in their current versions, or every version.

    Not for finding something (that is `retrieve`) but for having it all: exports, audits.
    """

    pool: PoolName
    cursor: Annotated[str, Meta(max_length=64, description="From the last page; left out: the beginning.")] | None = (
        None
    )
    limit: Annotated[int, Meta(ge=1, le=256)] = 256
    history: Annotated[bool, Meta(description="Every version, not the current ones alone.")] = False


class ListedVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version: what it was then, and who changed what, why."""

    memory: Memory
    change: Change
    actor: str
    reason: str | None = None


class ListMemoriesReply(msgspec.Struct, frozen=True, kw_only=True):
    """A page, oldest first. ``cursor`` is where the next begins, and null at the end.

    A memory that is changed meanwhile moves on and may come twice; none is left out.
    """

    versions: tuple[ListedVersion, ...]
    cursor: str | None = None
