"""Ids of memories: time-ordered ones, and ones that follow from an idempotency key."""

from __future__ import annotations

import hashlib
import secrets
import time
import uuid
from collections.abc import Callable


def new_id(clock: Callable[[], float] = time.time) -> str:
    """A UUIDv7 (RFC 9562 §5.7): 48 bits of Unix milliseconds, then 74 random ones."""
    milliseconds = int(clock() * 1000) & ((1 << 48) - 1)
    value = (milliseconds << 80) | secrets.randbits(80)
    return str(_stamped(value, version=7))


def derived_id(*parts: str) -> str:
    """A UUIDv8 (RFC 9562 §5.8) that is the same for the same ``parts``, on every node and for ever.

    The parts are joined by NUL, which none of them can hold, and hashed with SHA-256.
    """
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return str(_stamped(int.from_bytes(digest[:16]), version=8))


def _stamped(value: int, *, version: int) -> uuid.UUID:
    value &= ~(0xF << 76) & ~(0b11 << 62)
    return uuid.UUID(int=value | (version << 76) | (0b10 << 62))
