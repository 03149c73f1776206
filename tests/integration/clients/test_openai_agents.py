"""The OpenAI Agents SDK as a client, beside us in one environment: `import agents` is theirs."""

from __future__ import annotations

import json
from importlib import import_module

from agents.mcp import MCPServerStreamableHttp, MCPUtil  # noqa: TID251  # theirs is what is tried here
from mcp_types import TextContent

from afterwit.bus.mcp.tools import TOOLS

from .conftest import Endpoint

# A type checker that runs in the root takes our folder for it, so it is not imported by a statement.
agents = import_module("agents")


def test_the_name_is_theirs() -> None:
    assert hasattr(agents, "Runner")


async def test_it_stores_and_finds(endpoint: Endpoint) -> None:
    server = MCPServerStreamableHttp(
        params={"url": endpoint.url, "headers": endpoint.headers}, use_structured_content=True
    )
    async with server:
        assert len(await server.list_tools()) == len(TOOLS)
        stored = await server.call_tool("memory_store", {"content": "The relay hums"})
        assert not stored.is_error
        found = await server.call_tool("memory_retrieve", {"query": "relay"})
        (block,) = found.content
        assert isinstance(block, TextContent)
        assert json.loads(block.text)["items"][0]["memory"]["content"] == "The relay hums"


async def test_its_conversion_takes_our_schemas(endpoint: Endpoint) -> None:
    server = MCPServerStreamableHttp(params={"url": endpoint.url, "headers": endpoint.headers})
    async with server:
        agent = agents.Agent(name="t", mcp_servers=[server])
        for strict in (False, True):
            tools = await MCPUtil.get_function_tools(server, strict, agents.RunContextWrapper(None), agent)
            assert len(tools) == len(TOOLS)
