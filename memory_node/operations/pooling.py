"""Pools and grants: `pools`, `pool_create`, `pool_set`, `pool_grant`, `pool_revoke`, `health`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial

from ...bus.identity import Agents, PoolRegistry
from ...bus.rpc import Caller
from ...schemas import (
    Health,
    HealthReply,
    Invalid,
    PoolCreate,
    PoolGrant,
    PoolInfo,
    PoolReply,
    PoolRevoke,
    Pools,
    PoolSet,
    PoolsReply,
    Retention,
)
from ...schemas.words import HIDDEN, TIERS, Role
from ..access import Access, no_such_pool
from ..bulk import without_bulk
from ..index import Index, IndexFilter
from ..pool_health import PoolsHealth

Lost = Callable[[str, str], Awaitable[None]]
"""Ends what an agent (the first) has open that lives on a pool (the second)."""


class Pooling:
    """Makes pools, lets agents in and out, and says how pools are doing."""

    def __init__(  # noqa: PLR0913  # what pools are made of, and who is told of them
        self,
        *,
        access: Access,
        agents: Agents,
        registry: PoolRegistry,
        index: Index,
        health: PoolsHealth,
        lost: Lost,
        clock: Callable[[], datetime],
    ) -> None:
        self._access = access
        self._agents = agents
        self._registry = registry
        self._index = index
        self._pools_health = health
        self._lost = lost
        self._clock = clock

    async def pools(self, caller: Caller, request: Pools) -> PoolsReply:
        """Every pool that the caller may read."""
        roles = await self._access.roles(caller.agent)
        infos = await asyncio.gather(*(self._info(pool, role) for pool, role in roles.items()))
        return PoolsReply(pools=tuple(infos))

    async def create(self, caller: Caller, request: PoolCreate) -> PoolReply:
        """A new shared pool."""
        _check_shared(request.pool)
        await self._registry.create(request.pool, description=request.description, by=caller.agent)
        if request.retention_days is not None:
            await self._registry.set(request.pool, request.retention_days, by=caller.agent)
        return PoolReply(pool=request.pool)

    async def set(self, caller: Caller, request: PoolSet) -> PoolReply:
        """Say how long a pool is kept; the next review goes by it."""
        await self._access.require(caller.agent, request.pool, "owner")
        await self._registry.set(request.pool, request.retention_days, by=caller.agent)
        return PoolReply(pool=request.pool)

    async def grant(self, caller: Caller, request: PoolGrant) -> PoolReply:
        """Let an agent in, or change its role."""
        _check_shared(request.pool)
        await self._access.require(caller.agent, request.pool, "owner")
        if request.until is not None and request.until <= self._clock():
            raise Invalid(
                f"until: {request.until.isoformat()} has passed; use pool_revoke to end a grant", field="until"
            )
        record = await self._agents.get(request.agent)
        if record is None or record.revoked_at is not None:
            raise Invalid(f"agent: there is no agent {request.agent!r}", field="agent")
        before = await self._registry.grant_of(request.pool, request.agent)
        await self._registry.grant(request.pool, request.agent, request.role, until=request.until, by=caller.agent)
        if before is not None and _ends_sooner(before.until, request.until):
            await self._lost(request.agent, request.pool)  # what it has open was promised longer
        return PoolReply(pool=request.pool)

    async def revoke(self, caller: Caller, request: PoolRevoke) -> PoolReply:
        """Take a role away; what the agent has open on the pool ends before this answers.

        Whoever wants may leave, and is answered first: the connection that asks is among those that end.

        Raises:
            Unavailable, TimedOut: the role is gone, but connections may live on; asking again ends them.
        """
        _check_shared(request.pool)
        leaves = request.agent == caller.agent
        await self._access.require(caller.agent, request.pool, "reader" if leaves else "owner")
        await self._registry.revoke(request.pool, request.agent, by=caller.agent)
        if leaves:
            caller.afterwards.append(partial(self._lost, request.agent, request.pool))
        else:
            await self._lost(request.agent, request.pool)
        return PoolReply(pool=request.pool)

    async def health(self, caller: Caller, request: Health) -> HealthReply:
        """The figures of one pool."""
        if not await self._access.may_read(caller.agent, request.pool):
            no_such_pool(request.pool)
        health = await self._pools_health.of(request.pool)
        visible = IndexFilter(pools=(request.pool,), statuses_hidden=HIDDEN, valid_at=self._clock(), clearance=())
        newest = await self._index.find(visible, request.newest) if request.newest else []
        tags = await self._index.facet("tags", visible, request.tags) if request.tags else []
        entities = await self._index.facet("entities", visible, request.entities) if request.entities else []
        shown, without_data = without_bulk(newest)
        return HealthReply(
            pool=request.pool,
            active=health.active,
            archived_share=health.archived_share,
            mean_confidence=health.mean_confidence,
            open_conflicts=health.open_conflicts,
            candidates=health.candidates,
            superseded=health.superseded,
            stale_share=health.stale_share,
            reflected_at=health.reflected_at,
            duplicates=health.duplicates,
            newest=shown,
            without_data=without_data,
            tags=tuple(tag for tag, _ in tags),
            entities=tuple(entity for entity, _ in entities),
        )

    async def _info(self, pool: str, role: Role) -> PoolInfo:
        record = await self._registry.get(pool) if pool.startswith("shared/") else None
        settings = await self._registry.settings_of(pool)
        by_tier = await self._index.counts_by_tier(IndexFilter(pools=(pool,), statuses_hidden=HIDDEN))
        return PoolInfo(
            pool=pool,
            role=role,
            description=record.description if record else "",
            counts={tier: by_tier.get(tier, 0) for tier in TIERS},
            health=await self._pools_health.of(pool),
            retention_days=settings.retention_days if settings else Retention(),
        )


def _ends_sooner(before: datetime | None, after: datetime | None) -> bool:
    return after is not None and (before is None or after < before)


def _check_shared(pool: str) -> None:
    if not pool.startswith("shared/"):
        raise Invalid(f"pool: {pool!r} is private, it belongs to its agent alone; use a shared/<name>", field="pool")
