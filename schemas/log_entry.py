"""What the log holds: the whole new version of a memory, and what is needed to index it without asking anybody."""

from __future__ import annotations

import msgspec

from .memory import Memory
from .words import Change, MemoryId


class Embedding(msgspec.Struct, frozen=True, kw_only=True):
    """A vector as the model gave it. Calibration belongs to the index, so that it can be bettered later.

    ``values`` are little-endian half-precision floats, ``recipe`` names how the embedded text was made.
    """

    model: str
    recipe: str
    values: bytes


class TurnBefore(msgspec.Struct, frozen=True, kw_only=True):
    """What a memory is indexed together with, settled when it is written: the turn before it.

    ``terms`` are the numbers of that turn's terms (32 bits each, little-endian, as often as they occur): enough to
    index by, and not its text, which only its own entry holds.
    """

    id: MemoryId
    terms: bytes


class EarlierVersion(msgspec.Struct, frozen=True, kw_only=True):
    """What a version was, and who made it so: a log entry without what is needed to index it."""

    memory: Memory
    change: Change
    actor: str
    reason: str | None = None


class LogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One version of one memory.

    ``actor`` made it and said ``reason``; ``request_digest`` tells a repeated store from another one and stays
    the same through all versions, as ``before`` does. ``again``: this is the version that stood before, once more and
    now with its embedding (which could not be made then): nothing changed, and nobody is told.

    ``earlier``: the turn before was purged, and this entry stands without it, in the place of entries that it did not:
    of its own version, and of these, which it keeps. Those are erased when this one is handled.
    """

    memory: Memory
    change: Change
    actor: str
    reason: str | None = None
    embedding: Embedding | None = None
    request_digest: str | None = None
    before: TurnBefore | None = None
    again: bool = False
    earlier: tuple[EarlierVersion, ...] | None = None
