"""Records of who exists and who was let in, as kept in the key-value buckets. Never a token, only hashes."""

from __future__ import annotations

import msgspec

from .pools import Retention
from .words import AgentName, Role, Time


class TokenHash(msgspec.Struct, frozen=True, kw_only=True):
    """SHA-256 of a token (256 random bits, so no slow hash is needed), in hex."""

    sha256: str
    created_at: Time
    expires_at: Time | None = None


class AgentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An identity. An agent whose ``revoked_at`` is set is nobody."""

    name: AgentName
    tokens: tuple[TokenHash, ...]
    created_at: Time
    revoked_at: Time | None = None


class PoolRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A shared pool."""

    description: str
    created_by: AgentName
    created_at: Time


class PoolSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a pool, shared or private, is kept."""

    retention_days: Retention
    set_by: AgentName
    at: Time


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """One agent's role in one pool; void once ``until`` has passed."""

    role: Role
    until: Time | None = None
    granted_by: AgentName
    at: Time
