"""Who may read a pool: asked at the moment when it matters, never remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Protocol

from ...schemas import Grant, Health, HealthReply, NotFound
from .node import Node


class Credential(NamedTuple):
    """An agent, and the digest of the token that it proved itself with; ``None`` where NATS judges its token."""

    agent: str
    token: str | None = None


class Access(Protocol):
    """Who may read what, now."""

    async def live(self, credentials: AbstractSet[Credential]) -> AbstractSet[Credential]:
        """Those of ``credentials`` that are good at this moment."""
        ...

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


class Tokens(Protocol):
    """The part of `afterwit.bus.identity.Agents` that is needed here."""

    async def live_tokens(self, name: str) -> frozenset[str]:
        """The digests of an agent's tokens that are good now."""
        ...


class RegistryAccess:
    """Access read from the registers: one read of NATS per pool, and one per agent whose token is in question."""

    def __init__(self, grants: Grants, tokens: Tokens) -> None:
        self._grants = grants
        self._tokens = tokens

    async def live(self, credentials: AbstractSet[Credential]) -> AbstractSet[Credential]:
        """Those of ``credentials`` that are good at this moment."""
        agents = sorted({credential.agent for credential in credentials})
        tokens = await asyncio.gather(*map(self._tokens.live_tokens, agents))
        good = dict(zip(agents, tokens, strict=True))
        return {c for c in credentials if (c.token in good[c.agent] if c.token is not None else good[c.agent])}

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

    async def live(self, credentials: AbstractSet[Credential]) -> AbstractSet[Credential]:
        """All: the connection to NATS, on which everything comes, ends with the token."""
        return credentials

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
