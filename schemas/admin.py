"""What an operator asks of a node: `rebuild`, and dead letters. Not part of the contract with agents."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from .words import Time


class Rebuild(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Throw index and windows away, and build them anew from the log while serving."""


class IndexContent(msgspec.Struct, frozen=True, kw_only=True):
    """How many memories the index holds, and a checksum over (id, version, status) of all."""

    memories: int
    checksum: str


class RebuildReply(msgspec.Struct, frozen=True, kw_only=True):
    """The index before and after; they differ by what was written meanwhile, or by what was wrong."""

    entries: int
    took_s: float
    before: IndexContent
    after: IndexContent


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be processed. ``id`` is its place in the stream of dead letters."""

    id: int
    what: str
    subject: str
    reason: str
    at: Time
    size: int


class DeadList(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """List dead letters after ``after``, oldest first."""

    after: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class DeadListReply(msgspec.Struct, frozen=True, kw_only=True):
    """A page; the next begins after its last one."""

    letters: tuple[DeadLetter, ...]


class DeadRetry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Have dead letters processed once more; those that are under way again are removed here."""

    ids: Annotated[tuple[int, ...], Meta(min_length=1, max_length=1000)]


class DeadDrop(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Erase dead letters."""

    ids: Annotated[tuple[int, ...], Meta(min_length=1, max_length=1000)]


class DeadFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A letter that could not be retried and stays."""

    id: int
    reason: str


class DeadReply(msgspec.Struct, frozen=True, kw_only=True):
    """``done`` were retried or dropped, ``failed`` stay, ``unknown`` are not, or no longer, there."""

    done: tuple[int, ...]
    unknown: tuple[int, ...] = ()
    failed: tuple[DeadFailure, ...] = ()
