"""A memory, as everybody sees it."""

from __future__ import annotations

import msgspec

from .words import (
    AgentName,
    Json,
    Kind,
    Labels,
    MemoryId,
    MemoryUri,
    PoolName,
    Rel,
    Seq,
    SessionId,
    Source,
    Status,
    Text,
    Tier,
    Time,
    Turn,
    Unit,
    Version,
)


class Link(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An edge of the graph of memories, kept at its source."""

    rel: Rel
    target: MemoryId
    weight: Unit = 1.0


class Fact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A statement that can be compared exactly: ``Marta | seat | aisle``."""

    subject: Text
    predicate: Text
    object: Text


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """How many memories speak for a piece of knowledge, and how many against."""

    supporting: int = 0
    contradicting: int = 0


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """One record, in one version. A new version is a new Memory with the same id.

    ``seq`` is the version's place in the log; ``None`` while the write is only accepted.
    ``content`` is empty for a purged memory alone.
    """

    id: MemoryId
    uri: MemoryUri
    pool: PoolName
    tier: Tier
    kind: Kind
    content: str
    data: Json = None
    session_id: SessionId | None = None
    turn: Turn | None = None
    entities: Labels = ()
    tags: Labels = ()
    labels: Labels = ()
    task_type: str | None = None
    fact: Fact | None = None
    author: AgentName
    on_behalf_of: AgentName | None = None
    source: Source
    trust: Unit
    confidence: Unit
    evidence: Evidence = Evidence()
    importance: Unit
    links: tuple[Link, ...] = ()
    status: Status = "active"
    occurred_at: Time
    valid_from: Time | None = None
    valid_to: Time | None = None
    expires_at: Time | None = None
    pinned: bool = False
    created_at: Time
    updated_at: Time
    version: Version
    seq: Seq | None = None
