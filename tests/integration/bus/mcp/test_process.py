"""The gateway as a process, and MCP over standard input and output."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.subscriptions import ResourceUpdated

from afterwit.bus.mcp.settings import GatewaySettings
from afterwit.bus.mcp.stdio import serve_stdio
from afterwit.bus.mcp.tools import TOOLS
from afterwit.bus.settings import write_env
from afterwit.schemas import Invalid, Store, Unauthenticated
from tests.engines.fake_system import FakeSystem
from tests.engines.system import clean_environment
from tests.engines.waiting import wait_until
from tests.unit.bus.mcp.test_watching import Inbox, old_protocol

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
GATEWAY = """
import logging, os, sys
from pathlib import Path
from afterwit.bus.mcp import gateway
from afterwit.bus.mcp.settings import GatewaySettings
gateway._GRACE_S = 3600
logging.basicConfig(level=logging.WARNING)
gateway.main(GatewaySettings.from_env(os.environ), ready=lambda port: print(port, flush=True))
"""
STDIO = """
import asyncio, logging, sys
from afterwit.bus.mcp.stdio import serve_stdio
logging.basicConfig(level=logging.INFO)
asyncio.run(serve_stdio(*sys.argv[1:]))
"""


@asynccontextmanager
async def gateway_process(settings: GatewaySettings) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", GATEWAY),
        env=clean_environment(**write_env(settings)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def port_of(process: asyncio.subprocess.Process) -> int:
    assert process.stdout is not None
    return int(await asyncio.wait_for(process.stdout.readline(), 60))


async def test_it_ends_with_a_failure_when_its_connection_is_ended_for_good(system: FakeSystem) -> None:
    """Whoever supervises it starts another, which is let in if that may be."""
    async with gateway_process(system.settings()) as process:
        await port_of(process)
        password = json.loads((system.secrets / "gateway.json").read_text())["password"]
        system.server.reload(system.server._extra.replace(password, "another"))
        async with asyncio.timeout(20):
            assert await process.wait() == 1
        assert process.stderr is not None
        assert b"ended the gateway's connection for good" in await process.stderr.read()


async def test_sigterm_ends_it_in_time_and_in_order(system: FakeSystem) -> None:
    inbox = Inbox()
    with old_protocol():
        async with gateway_process(system.settings()) as process:
            url = f"http://127.0.0.1:{await port_of(process)}"
            async with (
                system.client(url, "bob", mode="legacy", message_handler=inbox) as old,
                system.client(url, "alice", mode="2026-07-28") as new,
                new.listen(resource_subscriptions=["memory://agent/alice"]) as events,
            ):
                await old.subscribe_resource("memory://shared/team")
                await wait_until(lambda: _told(system, inbox), description="the session is told")
                process.send_signal(signal.SIGTERM)
                assert [event async for event in events] == []
                assert await asyncio.wait_for(process.wait(), 60) == 0, "something was waited for"
            assert process.stderr is not None
            assert b"Traceback" not in await process.stderr.read()


async def _told(system: FakeSystem, inbox: Inbox) -> bool:
    await system.node.store("bob", Store(content="x", pool="shared/team"))
    return bool(inbox.uris)


async def test_it_waits_for_nats_and_says_so(system: FakeSystem) -> None:
    system.server.stop()
    async with gateway_process(system.settings()) as process:
        await asyncio.wait_for(says_that_it_waits(process), 60)
        system.server.start()
        await port_of(process)
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


async def test_told_to_stop_while_it_waits_it_stops(system: FakeSystem) -> None:
    system.server.stop()
    async with gateway_process(system.settings()) as process:
        await asyncio.wait_for(says_that_it_waits(process), 60)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 0
    system.server.start()


async def says_that_it_waits(process: asyncio.subprocess.Process) -> None:
    assert process.stderr is not None
    while b"waiting for NATS" not in await process.stderr.readline():
        assert process.returncode is None


def stdio(system: FakeSystem, agent: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-c", STDIO, agent, system.server.url, system.tokens[agent]], cwd=Path.cwd()
    )


@ERAS
async def test_over_standard_input_and_output(system: FakeSystem, era: str) -> None:
    async with Client(stdio(system, "alice"), mode=era) as client:
        assert len((await client.list_tools()).tools) == len(TOOLS)
        stored = await client.call_tool("memory_store", {"content": "The relay hums"})
        assert stored.structured_content["memory"]["author"] == "alice"
        uris = [resource.uri for resource in (await client.list_resources()).resources]
        assert uris == ["memory://pools", "memory://agent/alice", "memory://shared/team"]


async def test_stdio_watches_with_the_agents_own_rights(system: FakeSystem) -> None:
    async with (
        Client(stdio(system, "bob"), mode="2026-07-28") as bob,
        bob.listen(resource_subscriptions=["memory://shared/team"]) as events,
    ):
        await system.node.store("alice", Store(content="x", pool="shared/team"))
        assert await anext(events) == ResourceUpdated(uri="memory://shared/team")
        await system.create_pool("shared/later", "alice", "bob")  # granted after it has connected
        async with bob.listen(resource_subscriptions=["memory://shared/later"]) as later:
            await system.node.store("alice", Store(content="y", pool="shared/later"))
            assert await anext(later) == ResourceUpdated(uri="memory://shared/later")
        await system.node.store("alice", Store(content="z", pool="shared/team"))
        assert await anext(events) == ResourceUpdated(uri="memory://shared/team")


async def test_a_stdio_session_is_told_too(system: FakeSystem) -> None:
    inbox = Inbox()
    with old_protocol():
        async with Client(stdio(system, "bob"), mode="legacy", message_handler=inbox) as bob:
            await bob.subscribe_resource("memory://shared/team")
            await wait_until(lambda: _told(system, inbox), description="the session is told")
            assert set(inbox.uris) == {"memory://shared/team"}
            await wait_until(lambda: inbox.lists > 0, description="the list has changed")


async def test_stdio_takes_its_own_token_only(system: FakeSystem) -> None:
    with pytest.raises(Invalid, match="not that of bob"):
        await serve_stdio("bob", system.server.url, system.tokens["alice"])
    with pytest.raises(Unauthenticated):
        await serve_stdio("bob", system.server.url, "aw.bob." + "0" * 64)
