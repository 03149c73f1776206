"""Who may do what in which pool. Read from the registry at every decision, never remembered (ADR 002)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final, NoReturn

from ..bus.identity import Agents, PoolRegistry
from ..schemas import Forbidden, NotFound
from ..schemas.words import Role

_RANK: Final[dict[Role, int]] = {"reader": 0, "writer": 1, "owner": 2}


def private_pool(agent: str) -> str:
    """The pool that belongs to ``agent`` alone."""
    return f"agent/{agent}"


class Access:
    """Decides. A pool that the caller may not read does not exist for it: same error, same text."""

    def __init__(self, registry: PoolRegistry, agents: Agents) -> None:
        self._registry = registry
        self._agents = agents

    async def roles(self, agent: str) -> dict[str, Role]:
        """Every pool that ``agent`` may read, with its role; its private pool first, then by name."""
        grants = await self._registry.grants_of(agent)
        shared: dict[str, Role] = {pool: grants[pool].role for pool in sorted(grants)}
        return {private_pool(agent): "owner", **shared}

    async def readable(self, agent: str, wanted: Iterable[str] = ()) -> tuple[str, ...]:
        """The pools to look in: those ``wanted``, or all that ``agent`` may read.

        Raises:
            NotFound: one of the wanted pools is not there for ``agent``.
        """
        wanted = tuple(dict.fromkeys(wanted))
        if wanted == (private_pool(agent),):
            return wanted
        roles = await self.roles(agent)
        for pool in wanted:
            if pool not in roles:
                no_such_pool(pool)
        return wanted or tuple(roles)

    async def still(self, agent: str) -> frozenset[str]:
        """The pools that ``agent`` may read now; none if the agent itself was revoked.

        For work that took time, or waited in a queue: what was allowed when it began may have ended since.
        """
        roles, revoked = await asyncio.gather(self.roles(agent), self.revoked(agent))
        return frozenset() if revoked else frozenset(roles)

    async def revoked(self, agent: str) -> bool:
        """Whether ``agent`` was made nobody. New requests of one do not come so far: this is for old ones."""
        record = await self._agents.get(agent)
        return record is not None and record.revoked_at is not None

    async def writable(self, agent: str) -> tuple[str, ...]:
        """All pools that ``agent`` may write to."""
        return tuple(pool for pool, role in (await self.roles(agent)).items() if role != "reader")

    async def may_read(self, agent: str, pool: str) -> bool:
        """Whether ``agent`` may read ``pool`` now."""
        return await self._role(agent, pool) is not None

    async def require(self, agent: str, pool: str, role: Role) -> None:
        """Make sure that ``agent`` has at least ``role`` in ``pool``.

        Raises:
            NotFound: the pool is not there for ``agent``.
            Forbidden: it is, but ``agent`` may only read (or write) it.
        """
        held = await self._role(agent, pool)
        if held is None:
            no_such_pool(pool)
        if _RANK[held] < _RANK[role]:
            raise Forbidden(f"you are a {held} of {pool}, and this needs a {role}: ask an owner of the pool", pool=pool)

    async def _role(self, agent: str, pool: str) -> Role | None:
        if pool == private_pool(agent):
            return "owner"
        if pool.startswith("agent/"):
            return None
        grant = await self._registry.grant_of(pool, agent)
        return grant.role if grant else None


def no_such_pool(pool: str) -> NoReturn:
    """What a caller hears of a pool that is not there, or not for it."""
    raise NotFound(f"there is no pool {pool!r} that you may read", pool=pool)


def no_such_memory(id: str) -> NoReturn:
    """What a caller hears of a memory that is not there, or not for it."""
    raise NotFound(f"there is no memory {id!r} that you may read", id=id)


def no_such_session(session_id: str) -> NoReturn:
    """What a caller hears of a session that is not there, or not its own."""
    raise NotFound(f"there is no session {session_id!r} of yours", session_id=session_id)
