"""The running product, with agents whose names are secrets too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest_asyncio

from afterwit.bus.identity import Agents
from afterwit.bus.mcp.tools import TOOLS
from afterwit.deploy.admin import connected_as
from tests.engines.agents import Agent, agent
from tests.engines.system import System

from .cases import Own
from .doors import Visitor, visitor
from .markers import Markers
from .probe import Probe
from .world import Hidden, hide

TOOL_OF = {tool.op: tool.name for tool in TOOLS}


@dataclass(frozen=True)
class Populated(System):
    """The shared system, with agents of one test's own."""

    tokens: dict[str, str] = field(default_factory=dict)

    def token(self, name: str) -> str:
        return self.tokens[name]


@dataclass
class World:
    """``named`` is hidden and can be guessed, ``unnamed`` may never be heard of.

    ``friend`` shares the ``common`` pool with the ``visitors``: an intruder, and two who will have had a grant.
    """

    system: Populated
    markers: Markers
    friend: Agent
    common: str
    named: Hidden
    unnamed: Hidden
    visitors: dict[str, str]
    stack: AsyncExitStack

    async def visitor(self, who: str) -> Visitor:
        """The ``intruder``, or who will have been ``revoked`` or ``lapsed``, with all doors open."""
        return await self.stack.enter_async_context(visitor(self.system, self.visitors[who], TOOL_OF))

    def as_agent(self, one: Visitor) -> Agent:
        """A visitor as the other tests know agents."""
        return Agent(one.agent, self.system.token(one.agent), one.mcp[0].client, one.nc)

    async def own(self, one: Visitor) -> Own:
        """A pool, a memory and a retrieval for ``one``; all its memories share words with those that are hidden."""
        pool = f"shared/own-{one.agent}"
        door = self.as_agent(one)
        await door.ask("pool_create", pool=pool)
        for n in range(4):
            await door.ask("store", pool=pool, content=f"relay number {n}, tide and harbour", tags=["tide"])
        memory = (await door.ask("store", content="relay of my own", session_id="mine", entities=["Harbour"]))["memory"]
        retrieval = await door.ask("retrieve", query="relay")
        return Own(one.agent, pool, memory["id"], retrieval["retrieval_id"])

    def probe(self, own: Own) -> Probe:
        return Probe(self.markers, own, self.named.things)


@pytest_asyncio.fixture
async def world(no_leaked_tasks: None, afterwit: System, unused: str) -> AsyncIterator[World]:
    """Two owners who hide things, a friend, and names for visitors."""
    markers = Markers()
    system = Populated(afterwit.ready_file, afterwit.output)
    first, second = (markers.new(f"{which}: agent name") for which in ("named", "unnamed"))
    names = {"friend": f"friend-{unused}", "named": first, "unnamed": second}
    visitors = {who: f"{who}-{unused}" for who in ("intruder", "revoked", "lapsed")}
    async with connected_as("admin", afterwit.ready.nats, afterwit.data_dir / "credentials" / "admin.json") as nc:
        for name in (*names.values(), *visitors.values()):
            system.tokens[name] = await Agents(nc).add(name)
    async with AsyncExitStack() as stack:
        friend, one, other = [await stack.enter_async_context(agent(system, name)) for name in names.values()]
        common = f"shared/common-{unused}"
        await friend.ask("pool_create", pool=common)
        for name in visitors.values():
            await friend.ask("pool_grant", pool=common, agent=name, role="reader")
        named, unnamed = await hide(one, "named", markers), await hide(other, "unnamed", markers)
        yield World(system, markers, friend, common, named, unnamed, visitors, stack)
