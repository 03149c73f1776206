"""Pools and who may do what in them: `pools`, `pool_create`, `pool_set`, `pool_grant`, `pool_revoke`, `health`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ._checks import check_times
from .memory import Memory
from .words import AgentName, MemoryId, PoolName, Role, Time

Days = Annotated[int, Meta(ge=1, le=36_500)]
"""Up to a hundred years."""


class Retention(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For how many days a pool's memories of a tier stay in sight after they were last touched; lessons twice as long.

    Then they are archived, never purged. Without a figure a memory stays for as long as it is worth it. What is pinned
    or disputed stays in any case.
    """

    working: Days | None = None
    episodic: Days | None = None
    semantic: Days | None = None


class PoolHealth(msgspec.Struct, frozen=True, kw_only=True):
    """How a pool is doing. Shares are 0…1, over all memories that were not purged.

    ``candidates`` are pieces of knowledge that too little speaks for as yet; ``stale_share`` is how much of what can be
    found happened over 90 days ago; ``reflected_at`` is when looking back last wrote something here. ``duplicates``
    are pieces of knowledge that say what another one says, and that the last review left; null if there was none within
    a week.
    """

    active: int
    archived_share: float
    mean_confidence: float | None = None
    open_conflicts: int
    candidates: int = 0
    superseded: int = 0
    stale_share: float = 0.0
    reflected_at: Time | None = None
    duplicates: int | None = None


class PoolInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A pool as one agent sees it. ``counts`` are active memories by tier."""

    pool: PoolName
    role: Role
    description: str = ""
    counts: dict[str, int]
    health: PoolHealth
    retention_days: Retention = Retention()


class Pools(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which pools the caller may see."""


class PoolsReply(msgspec.Struct, frozen=True, kw_only=True):
    """The private pool first, then the shared ones by name."""

    pools: tuple[PoolInfo, ...]


class PoolCreate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Make a shared pool; the caller becomes its owner."""

    pool: PoolName
    description: Annotated[str, Meta(max_length=1000)] = ""
    retention_days: Annotated[Retention | None, Meta(description="How long it is kept; left out: as needed.")] = None


class PoolSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Say how long a pool that the caller owns is kept, its private one included. Replaces what was said before."""

    pool: PoolName
    retention_days: Retention


class PoolGrant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Give `agent` a role in a pool that the caller owns, for ever or `until`."""

    pool: PoolName
    agent: AgentName
    role: Role
    until: Time | None = None

    def __post_init__(self) -> None:
        check_times(until=self.until)


class PoolRevoke(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Take `agent`'s role in a pool away, at once. Owners may, and each agent its own: so it leaves."""

    pool: PoolName
    agent: AgentName


class PoolReply(msgspec.Struct, frozen=True, kw_only=True):
    """The pool's name."""

    pool: PoolName


class Health(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one pool is doing; on request, what came in last, and which tags and names are used most."""

    pool: PoolName
    newest: Annotated[int, Meta(ge=0, le=50, description="Show so many of the newest memories.")] = 0
    tags: Annotated[int, Meta(ge=0, le=100, description="Show so many of the most used tags.")] = 0
    entities: Annotated[int, Meta(ge=0, le=100, description="Show so many of the entities that are named most.")] = 0


class HealthReply(PoolHealth, frozen=True, kw_only=True):
    """The figures of `PoolHealth`, the pool's name, and what was asked for: newest first, most used first.

    The data of ``without_data`` is over 4 KiB, and one read of its URI away.
    """

    pool: PoolName
    newest: tuple[Memory, ...] = ()
    without_data: tuple[MemoryId, ...] = ()
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
