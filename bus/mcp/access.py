"""Who may read a pool: asked at the moment when it matters, never remembered."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Protocol

from ...schemas import Grant, Health, HealthReply, NotFound
from .node import Node


class Access(Protocol):
    """Who may read what, now."""

    async def readers(self, pool: str, agents: AbstractSet[str]) -> AbstractSet[str]:
        """Those of ``agents`` who may read ``pool`` at this moment."""
        ...


class Grants(Protocol):
    """The part of `afterwit.bus.identity.PoolRegistry` that is needed here."""

    async def grants_in(self, pool: str) -> dict[str, Grant]:
        """All grants in a shared pool, by agent."""
        ...

    async def grant_of(self, pool: str, agent: str) -> Grant | None:
        """One agent's grant."""
        ...


class RegistryAccess:
    """Access read from the pool registry: one read of NATS per question, however many agents it is about."""

    def __init__(self, grants: Grants) -> None:
        self._grants = grants

    async def readers(self, pool: str, agents: AbstractSet[str]) -> AbstractSet[str]:
        """Those of ``agents`` who may read ``pool`` at this moment."""
        if (owner := owner_of(pool)) is not None:
            return agents & {owner}
        if len(agents) == 1:
            (agent,) = agents
            return agents if await self._grants.grant_of(pool, agent) is not None else frozenset()
        return agents & (await self._grants.grants_in(pool)).keys()


class NodeAccess:
    """Access for one agent that has no rights on the registry: a node answers whether the pool is there for it."""

    def __init__(self, node: Node) -> None:
        self._node = node

    async def readers(self, pool: str, agents: AbstractSet[str]) -> AbstractSet[str]:
        """Those of ``agents`` who may read ``pool`` at this moment."""
        if (owner := owner_of(pool)) is not None:
            return agents & {owner}
        return {agent for agent in agents if await self._reads(agent, pool)}

    async def _reads(self, agent: str, pool: str) -> bool:
        try:
            await self._node.ask(agent, Health(pool=pool), HealthReply)
        except NotFound:
            return False
        return True


def owner_of(pool: str) -> str | None:
    """The agent whose private pool this is; ``None`` for a shared pool."""
    kind, _, name = pool.partition("/")
    return name if kind == "agent" else None
