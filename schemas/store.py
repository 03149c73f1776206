"""Requests that bring memories in: `store`, `store_many`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ._checks import check_sizes, check_times
from .errors import ErrorBody
from .memory import Fact, Memory
from .words import (
    MAX_STORE_MANY,
    Ack,
    IdempotencyKey,
    Ids,
    Json,
    Kind,
    Label,
    Labels,
    MemoryId,
    PoolName,
    SessionId,
    Source,
    Text,
    Tier,
    Time,
    Turn,
    Unit,
)


class Store(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Store one memory. Without `pool` it goes to the caller's private pool."""

    content: Annotated[Text, Meta(description="What to remember, understandable on its own; at most 64 KiB.")]
    pool: PoolName | None = None
    tier: Tier = "episodic"
    kind: Kind = "note"
    data: Annotated[Json, Meta(description="Any JSON that belongs to it (a tool's result, say); at most 256 KiB.")] = (
        None
    )
    session_id: SessionId | None = None
    turn: Turn | None = None
    caused_by: Annotated[Ids, Meta(description="Ids of the memories that led to this one.")] = ()
    entities: Annotated[Labels, Meta(description="Names of people, systems, places it is about.")] = ()
    tags: Labels = ()
    labels: Annotated[
        Labels, Meta(description="Sensitivity (health, finance, …); retrieving it needs the same clearance.")
    ] = ()
    task_type: Label | None = None
    fact: Fact | None = None
    importance: Unit = 0.5
    confidence: Annotated[Unit | None, Meta(description="Left out: the trust of its source.")] = None
    source: Annotated[Source, Meta(description="Where it comes from: your own reasoning, the user, or a tool.")] = (
        "agent"
    )
    occurred_at: Annotated[Time | None, Meta(description="When it happened, with offset; left out: now.")] = None
    valid_from: Time | None = None
    expires_at: Time | None = None
    pinned: bool = False
    idempotency_key: Annotated[
        IdempotencyKey | None, Meta(description="Repeating a store with the same key makes no second memory.")
    ] = None
    ack: Annotated[
        Ack, Meta(description="visible: answered when retrieval finds it; accepted: when it is safely queued.")
    ] = "visible"

    def __post_init__(self) -> None:
        check_sizes(self.content, self.data)
        check_times(occurred_at=self.occurred_at, valid_from=self.valid_from, expires_at=self.expires_at)


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """Another memory that the new one touches, and what was done about it."""

    id: MemoryId
    kind: Literal["contradiction", "duplicate", "supersession"]
    action: Literal["disputed", "strengthened", "merged", "superseded", "none"]
    why: str


class GuardFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Something the guard saw in a write. Never holds the thing itself."""

    kind: str
    field: str
    action: Literal["masked", "noted", "refused"]


class StoreReply(msgspec.Struct, frozen=True, kw_only=True):
    """``created`` is false when the idempotency key was known: then ``memory`` is the one from the first time."""

    memory: Memory
    created: bool
    conflicts: tuple[Conflict, ...] = ()
    guard: tuple[GuardFinding, ...] = ()


class StoreMany(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Store up to 256 memories; each is judged alone, so one bad item does not hold up the others."""

    items: Annotated[
        tuple[dict[str, Any], ...], Meta(min_length=1, max_length=MAX_STORE_MANY, description="Each as for store.")
    ]
    ack: Ack = "visible"


class StoreResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one item: the fields of a store reply, or ``error``."""

    memory: Memory | None = None
    created: bool | None = None
    conflicts: tuple[Conflict, ...] | None = None
    guard: tuple[GuardFinding, ...] | None = None
    error: ErrorBody | None = None


class StoreManyReply(msgspec.Struct, frozen=True, kw_only=True):
    """One result per item, in order."""

    results: tuple[StoreResult, ...]
