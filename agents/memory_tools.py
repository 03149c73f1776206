"""The bus as an agent sees it: an MCP client with a bearer token. Nothing here knows Afterwit's code."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


class ToolFailed(Exception):
    """A tool answered with an error: ``code`` is its word, ``detail`` what a program needs to go on."""

    def __init__(self, code: str, message: str, detail: dict[str, Any]) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.detail = detail


class MemoryTools:
    """An agent's memory."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured result of ``tool``.

        Raises:
            ToolFailed: the tool answered with an error.
        """
        result = await self.client.call_tool(tool, arguments)
        content: dict[str, Any] = result.structured_content or {}
        if result.is_error:
            error = content["error"]
            raise ToolFailed(error["code"], error["message"], error.get("detail", {}))
        return content

    async def store(self, content: str, **fields: Any) -> dict[str, Any]:
        """Store a memory; the memory."""
        memory: dict[str, Any] = (await self.call("memory_store", content=content, **fields))["memory"]
        return memory

    async def retrieve(self, query: str, **fields: Any) -> list[dict[str, Any]]:
        """What answers ``query``; items, best first."""
        items: list[dict[str, Any]] = (await self.call("memory_retrieve", query=query, **fields))["items"]
        return items


@asynccontextmanager
async def memory_tools(url: str, token: str) -> AsyncIterator[MemoryTools]:
    """Connect to the gateway at ``url`` (``…/mcp``) as the agent whose ``token`` it is."""
    timeout = httpx2.Timeout(30.0, read=300.0)  # a listen stream is silent for as long as nothing changes
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=timeout) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield MemoryTools(client)
