"""`mcp.Client` at every door of the running product: both eras, with sessions and without, over standard input too."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.subscriptions import ResourceUpdated

from afterwit.bus.mcp.tools import TOOLS
from tests.engines.agents import Agent, mcp_client
from tests.engines.system import System, clean_environment

ERAS = pytest.mark.parametrize("era", ["2026-07-28", "legacy"])
DOORS = pytest.mark.parametrize("door", ["/mcp", "/mcp-stateless", "stdio"])


@asynccontextmanager
async def client_at(door: str, system: System, era: str, **options: Any) -> AsyncIterator[Client]:
    """Alice's client at ``door``."""
    async with AsyncExitStack() as stack:
        if door == "stdio":
            parameters = StdioServerParameters(
                command=sys.executable,
                args=["-P", "-m", "afterwit.deploy.cli", "mcp", "--agent", "alice", "--data-dir", str(system.data_dir)],
                env=clean_environment(),
            )
            yield await stack.enter_async_context(Client(stdio_client(parameters), mode=era, **options))
        else:
            yield await stack.enter_async_context(
                mcp_client(system, system.token("alice"), mode=era, path=door, **options)
            )


@ERAS
@DOORS
async def test_store_and_retrieve(afterwit: System, door: str, era: str, unused: str) -> None:
    async with client_at(door, afterwit, era) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {tool.name for tool in TOOLS}
        stored = await client.call_tool("memory_store", {"content": "Silo 4 is empty.", "tags": [unused]})
        assert not stored.is_error
        found = await client.call_tool("memory_retrieve", {"query": "Which silo is empty?", "tags": [unused]})
        assert found.structured_content is not None
        assert [item["memory"]["content"] for item in found.structured_content["items"]] == ["Silo 4 is empty."]


@ERAS
@pytest.mark.parametrize("door", ["/mcp", "/mcp-stateless"])
async def test_errors_are_results(afterwit: System, door: str, era: str) -> None:
    async with client_at(door, afterwit, era) as client:
        result = await client.call_tool("memory_store", {"content": ""})
        assert result.is_error
        assert result.structured_content is not None
        assert result.structured_content["error"]["detail"]["field"] == "content"


@pytest.mark.parametrize("door", ["/mcp", "/mcp-stateless", "stdio"])
async def test_listening_to_a_pool(afterwit: System, alice: Agent, pool: str, door: str) -> None:
    async with (
        client_at(door, afterwit, "2026-07-28") as client,
        client.listen(resource_subscriptions=[f"memory://{pool}"]) as events,
    ):
        await alice.store("Silo 5 is full.", pool=pool)
        async with asyncio.timeout(60):
            assert await anext(aiter(events)) == ResourceUpdated(f"memory://{pool}")


@pytest.mark.parametrize("door", ["/mcp", "stdio"])
@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")  # in the era that this is about, it is there
async def test_subscribing_to_a_pool(afterwit: System, alice: Agent, pool: str, door: str) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def on_message(message: Any) -> None:
        if getattr(message, "method", None) == "notifications/resources/updated":
            told.put_nowait(message.params.uri)

    async with client_at(door, afterwit, "legacy", message_handler=on_message) as client:
        await client.subscribe_resource(f"memory://{pool}")
        await alice.store("Silo 6 leaks.", pool=pool)
        async with asyncio.timeout(60):
            assert await told.get() == f"memory://{pool}"


async def test_a_model_sees_the_same_pools_everywhere(afterwit: System) -> None:
    seen = []
    for door in ("/mcp", "/mcp-stateless", "stdio"):
        async with client_at(door, afterwit, "2026-07-28") as client:
            (content,) = (await client.read_resource("memory://pools")).contents
            seen.append(getattr(content, "text", None))
    assert seen[0] == seen[1] == seen[2]
    assert seen[0] is not None
