"""Agents for tests: each has both doors of the bus open, and knows nothing of Afterwit's code."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx2
import nats
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from nats.aio.client import Client as NatsClient

from .system import System

T = TypeVar("T")
Reply = dict[str, Any]


def without_nulls(value: Any) -> Any:
    """``value`` with optional fields that have no value left out everywhere: they may be null or left out."""
    if isinstance(value, dict):
        return {k: v if k == "data" else without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [without_nulls(v) for v in value]
    return value


class Refused(Exception):
    """The bus answered with an error."""

    def __init__(self, error: Reply) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: str = error["code"]
        self.message: str = error["message"]
        self.detail: Reply = error["detail"]

    @property
    def field(self) -> str | None:
        """The field that it names."""
        named: str | None = self.detail.get("field")
        return named


@dataclass
class Agent:
    """One agent: ``tool`` speaks MCP, ``ask`` speaks NATS."""

    name: str
    token: str
    mcp: Client
    nc: NatsClient
    denied: list[str] = field(default_factory=list)
    """What NATS said that it may not do."""
    timeout_s: float = 30.0
    """How long it waits for answers over NATS."""

    @property
    def pool(self) -> str:
        """Its private pool."""
        return f"agent/{self.name}"

    async def tool(self, name: str, **arguments: Any) -> Reply:
        """Call an MCP tool.

        Raises:
            Refused: the result is an error.
        """
        result = await self.mcp.call_tool(name, arguments)
        reply: Reply = without_nulls(result.structured_content or {})
        if result.is_error:
            raise Refused(reply["error"])
        return reply

    async def ask(self, op: str, **request: Any) -> Reply:
        """Request an operation over NATS.

        Raises:
            Refused: the reply is an error.
        """
        return await self.ask_raw(op, json.dumps(request).encode())

    async def ask_raw(self, op: str, payload: bytes, headers: dict[str, str] | None = None) -> Reply:
        """Request an operation with a payload as it stands.

        Raises:
            Refused: the reply is an error.
        """
        answer = await self.nc.request(f"afterwit.v1.req.{self.name}.{op}", payload, self.timeout_s, headers=headers)
        reply: Reply = without_nulls(json.loads(answer.data))
        if "error" in reply:
            assert answer.headers is not None
            assert answer.headers["Nats-Service-Error-Code"] == reply["error"]["code"]
            raise Refused(reply["error"])
        return reply

    async def store(self, content: str, **fields: Any) -> Reply:
        """Store a memory with the tool; the memory."""
        memory: Reply = (await self.tool("memory_store", content=content, **fields))["memory"]
        return memory

    async def retrieve(self, query: str, **fields: Any) -> list[Reply]:
        """The memories that the tool finds, best first."""
        reply = await self.tool("memory_retrieve", query=query, **fields)
        return [item["memory"] for item in reply["items"]]

    async def look_back(self, **request: Any) -> Reply:
        """Reflect with the tool, and wait for the end: it answers sooner where the job takes long."""
        reply = await self.tool("memory_reflect", wait=True, **request)
        told = {"episode": reply["episode"]} if "episode" in reply else {}
        while reply["state"] in ("queued", "running"):
            reply = told | await self.tool("memory_reflect", job_id=reply["job_id"], wait=True)
        return reply

    async def read(self, uri: str) -> Reply:
        """The JSON that an MCP resource holds."""
        (content,) = (await self.mcp.read_resource(uri, cache_mode="bypass")).contents
        body: Reply = without_nulls(json.loads(getattr(content, "text", "null")))
        return body


async def pools_of(agent: Agent) -> list[Reply]:
    """The pools that ``agent`` sees, but for what a review has found: that happens when it is due."""
    found: list[Reply] = (await agent.ask("pools"))["pools"]
    for pool in found:
        pool["health"].pop("duplicates", None)
    return found


@asynccontextmanager
async def agent(system: System, name: str, *, mode: str = "auto", path: str = "/mcp") -> AsyncIterator[Agent]:
    """The agent ``name``, connected."""
    token = system.token(name)
    async with AsyncExitStack() as stack:
        mcp = await stack.enter_async_context(in_own_task(mcp_client(system, token, mode=mode, path=path)))
        denied: list[str] = []
        nc = await plain_nats(system, name, denied)
        stack.push_async_callback(nc.close)
        yield Agent(name, token, mcp, nc, denied)


@asynccontextmanager
async def mcp_client(
    system: System, token: str, *, mode: str = "auto", path: str = "/mcp", gateway: int = 0, **options: Any
) -> AsyncIterator[Client]:
    """An MCP client over HTTP, of the ``gateway``-th gateway."""
    url = system.ready.gateways[gateway] + path
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60, verify=False) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **options) as client,
    ):
        yield client


async def plain_nats(system: System, name: str, denied: list[str] | None = None) -> NatsClient:
    """A NATS connection with an agent's token, as the documentation says; close it."""

    async def on_error(error: Exception) -> None:
        if denied is not None:
            denied.append(str(error))

    inbox = f"_INBOX_{name}".encode()
    nc = await nats.connect(system.ready.nats, token=system.token(name), inbox_prefix=inbox, error_cb=on_error)
    if denied is not None:
        denied.clear()  # while the node stands still, a client is refused, and comes again
    return nc


@asynccontextmanager
async def in_own_task(context: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """``context``, entered and left by one task, as anyio's scopes want it: a fixture is not left where it began."""
    entered: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    leave = asyncio.Event()

    async def hold() -> None:
        async with context as value:
            entered.set_result(value)
            await leave.wait()

    task = asyncio.create_task(hold(), name="holds a context")
    await asyncio.wait((task, entered), return_when=asyncio.FIRST_COMPLETED)
    try:
        if entered.done():
            yield entered.result()
    finally:
        leave.set()
        await task
