"""Notices: that a memory changed, never what it says."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from .words import Change, Label, MemoryId, MemoryUri, PoolName, Tier, Time, Version


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Published once the version can be read (at least once, in order per memory)."""

    uri: MemoryUri
    pool: PoolName
    tier: Tier
    id: MemoryId
    version: Version
    seq: int
    change: Change
    actor: str
    at: Time


class Changes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What changed since ``cursor``, in the pools that the caller may read."""

    pools: Annotated[
        tuple[PoolName, ...], Meta(max_length=256, description="Only these pools; all readable ones if empty.")
    ] = ()
    cursor: Annotated[Label | None, Meta(description="From the last reply; left out: the oldest notice kept.")] = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    wait_ms: Annotated[int, Meta(ge=0, le=30_000, description="Wait this long if there is nothing yet.")] = 0


class ChangesReply(msgspec.Struct, frozen=True, kw_only=True):
    """``notices`` oldest first; an empty page ends the list, and its ``cursor`` goes on from there."""

    notices: tuple[Notice, ...]
    cursor: str
