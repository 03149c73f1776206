"""kill -9 of each part while agents write: what was acknowledged is there, once; what was not can be repeated."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import nats.errors
import pytest
from mcp.shared.exceptions import MCPError

from tests.engines.agents import Agent, Refused, agent, mcp_client
from tests.engines.system import System, launched
from tests.engines.waiting import wait_until

WRITERS = 6
ENOUGH = 30
IMPATIENT_S = 3.0
"""What a killed node had in hand is never answered: then a writer goes on to the next one."""


@pytest.fixture(scope="module")
def doomed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A system whose parts may be killed."""
    with launched(tmp_path_factory.mktemp("doomed"), "alice") as running:
        yield running


@dataclass
class Ledger:
    """What was asked for, and what was promised. A key stands for one memory."""

    pool: str
    acknowledged: dict[str, str] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)

    async def store(self, agent: Agent, key: str) -> None:
        """Store what ``key`` stands for; a failure must be one that the caller understands."""
        self.open.add(key)
        try:
            reply = await agent.ask("store", content=f"Reading {key}", pool=self.pool, idempotency_key=key)
        except Refused as e:
            if e.code not in {"unavailable", "timeout"}:
                raise
            self.failures.append(e.code)
        except (nats.errors.TimeoutError, nats.errors.NoRespondersError, nats.errors.ConnectionClosedError) as e:
            self.failures.append(type(e).__name__)
        else:
            self.open.discard(key)
            self.acknowledged[key] = reply["memory"]["id"]

    async def check(self, agent: Agent) -> None:
        """Everything promised can be read; with the rest repeated, there is one memory for each key."""
        for id in self.acknowledged.values():
            assert [v["version"] for v in (await agent.ask("history", id=id))["versions"]] == [1]
        promised = dict(self.acknowledged)
        for key in sorted(self.open | self.acknowledged.keys()):
            await self.store(agent, key)

        async def all_answered() -> bool:
            for key in sorted(self.open):
                await self.store(agent, key)
            return not self.open

        await wait_until(all_answered, description="what was repeated is acknowledged")
        assert {key: self.acknowledged[key] for key in promised} == promised
        assert (await agent.ask("health", pool=self.pool))["active"] == len(self.acknowledged)


@asynccontextmanager
async def writing(agent: Agent, ledger: Ledger) -> AsyncIterator[None]:
    """Several writers, as long as the block runs."""
    stop = asyncio.Event()

    async def write(writer: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            await ledger.store(agent, f"{writer}-{number}")
            if ledger.failures:
                await asyncio.sleep(0.02)  # nobody serves at present: there is no point in asking all the time

    async with asyncio.TaskGroup() as tasks:
        for writer in range(WRITERS):
            tasks.create_task(write(writer))
        try:
            yield
        finally:
            stop.set()


async def kill(system: System, part: str) -> None:
    """Kill the part, and wait until another one runs in its place."""
    (pid,) = system.pids(part)
    os.kill(pid, signal.SIGKILL)
    await wait_until(lambda: system.pids(part) not in ([pid], []), description=f"{part} runs again")


async def acknowledged(ledger: Ledger, more: int) -> None:
    wanted = len(ledger.acknowledged) + more
    await wait_until(lambda: len(ledger.acknowledged) >= wanted, description=f"{more} more stores")


@pytest.mark.parametrize("part", ["node", "nats"])
async def test_acknowledged_writes_survive(doomed: System, part: str) -> None:
    async with agent(doomed, "alice") as alice:
        ledger = Ledger(f"shared/{part}-killed")
        await alice.ask("pool_create", pool=ledger.pool)
        alice.timeout_s = IMPATIENT_S
        async with writing(alice, ledger):
            await acknowledged(ledger, ENOUGH)
            await kill(doomed, part)
            await acknowledged(ledger, ENOUGH)
        alice.timeout_s = 30.0
        await ledger.check(alice)


async def test_with_valkey_gone_a_context_still_answers(doomed: System, unused: str) -> None:
    async with agent(doomed, "alice") as alice:
        memory = await alice.store("The pump runs hot.", session_id=unused, turn=1)
        (pid,) = doomed.pids("valkey")
        os.kill(pid, signal.SIGKILL)
        assert (await alice.tool("memory_context", session_id=unused))["turns"] == [memory]
        second = await alice.store("The pump was switched off.", session_id=unused, turn=2)
        assert (await alice.tool("memory_context", session_id=unused))["turns"] == [memory, second]
        await wait_until(lambda: doomed.pids("valkey") not in ([pid], []), description="valkey runs again")
        assert (await alice.tool("memory_context", session_id=unused))["turns"] == [memory, second]


async def test_with_the_gateway_killed_agents_come_back(doomed: System) -> None:
    """A client of the 2026 era keeps no session, so the same client goes on."""
    async with mcp_client(doomed, doomed.token("alice"), mode="2026-07-28") as client:
        await client.call_tool("memory_store", {"content": "The gate is shut."})
        await kill(doomed, "gateway")
        result = await client.call_tool("memory_retrieve", {"query": "gate", "top_k": 1})
        assert not result.is_error
    async with mcp_client(doomed, doomed.token("alice"), mode="legacy") as client:
        assert not (await client.call_tool("memory_retrieve", {"query": "gate"})).is_error


async def test_a_handshake_session_of_a_killed_gateway_is_told_that_it_ended(doomed: System) -> None:
    """At ``/mcp-stateless`` there is none, so the same client goes on."""
    token = doomed.token("alice")
    async with (
        mcp_client(doomed, token, mode="legacy") as client,
        mcp_client(doomed, token, mode="legacy", path="/mcp-stateless") as stateless,
    ):
        for each in (client, stateless):
            assert not (await each.call_tool("memory_retrieve", {"query": "gate"})).is_error
        await kill(doomed, "gateway")
        with pytest.raises(MCPError):
            await client.call_tool("memory_retrieve", {"query": "gate"})
        assert not (await stateless.call_tool("memory_retrieve", {"query": "gate"})).is_error
