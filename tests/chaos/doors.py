"""The two doors of the bus, as a client that expects trouble uses them: an answer, a refusal, or silence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import anyio
import httpx2
import nats
import nats.errors
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from nats.aio.client import Client as NatsClient

from tests.engines.agents import Refused, Reply, in_own_task
from tests.engines.system import System

from .history import Door

_TOOL: Final = {
    "store": "memory_store",
    "update": "memory_update",
    "retrieve": "memory_retrieve",
    "changes": "memory_changes",
}


class NoAnswer(Exception):
    """It is not known whether anything was done."""


class Asking(Protocol):
    """One agent at one door."""

    @property
    def agent(self) -> str:
        """Who asks."""
        ...

    @property
    def door(self) -> Door:
        """Which door it is."""
        ...

    async def ask(self, op: str, **request: Any) -> Reply:
        """The reply.

        Raises:
            Refused: the bus said no; nothing was done, unless the code is ``timeout``.
            NoAnswer: none came.
        """
        ...


@dataclass
class OverNats:
    """An agent's NATS connection. ``on_back`` are called when it was lost and is there again."""

    agent: str
    nc: NatsClient
    on_back: list[Callable[[], None]] = field(default_factory=list)
    timeout_s: float = 6.0
    door: Door = "nats"

    async def ask(self, op: str, **request: Any) -> Reply:
        """See `Asking.ask`."""
        return await self.publish(f"afterwit.v1.req.{self.agent}.{op}", request)

    async def ingest(self, pool: str, request: Reply) -> Reply:
        """Hand a store over to the ingest stream; its ack."""
        return await self.publish(f"afterwit.v1.ingest.{self.agent}.{pool.replace('/', '.')}", request)

    async def publish(self, subject: str, request: Reply) -> Reply:
        """See `Asking.ask`."""
        try:
            answer = await self.nc.request(subject, json.dumps(request).encode(), self.timeout_s)
        except nats.errors.NoRespondersError:
            raise Refused({"code": "unavailable", "message": "nobody serves", "detail": {}}) from None
        except (nats.errors.Error, OSError) as e:
            raise NoAnswer(repr(e)) from e
        reply: Reply = json.loads(answer.data)
        if "error" in reply:
            error = reply["error"]
            if "message" not in error:  # JetStream's own: the stream did not take it
                raise Refused({"code": "unavailable", "message": str(error), "detail": {}})
            raise Refused(error)
        return reply


@asynccontextmanager
async def over_nats(system: System, agent: str) -> AsyncIterator[OverNats]:
    """Connected, for as long as the block runs."""
    on_back: list[Callable[[], None]] = []

    async def ignore(_: Exception) -> None:
        """Trouble is what it is here for."""

    async def back() -> None:
        for told in on_back:
            told()

    nc = await nats.connect(
        system.ready.nats.split(","),
        token=system.token(agent),
        inbox_prefix=f"_INBOX_{agent}".encode(),
        error_cb=ignore,
        reconnected_cb=back,
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.1,
    )
    try:
        yield OverNats(agent, nc, on_back)
    finally:
        await nc.close()


@dataclass
class OverMcp:
    """An agent's MCP client, made anew after a failure, each time at the next gateway.

    ``pool`` is where the memories are that it gets by id.
    """

    system: System
    agent: str
    pool: str
    mode: str
    timeout_s: float = 8.0
    door: Door = "mcp"
    client: McpClient | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _turn: int = 0

    async def ask(self, op: str, **request: Any) -> Reply:
        """See `Asking.ask`; ``get`` reads the memory's resource."""
        try:
            async with asyncio.timeout(self.timeout_s):
                client = await self.connected()
                if op == "get":
                    return await _resource(client, f"memory://{self.pool}/{request['id']}")
                result = await client.call_tool(_TOOL[op], request)
        except (MCPError, httpx2.HTTPError, OSError, anyio.ClosedResourceError, anyio.BrokenResourceError) as e:
            await self.close()
            raise NoAnswer(repr(e)) from e
        except ExceptionGroup as e:
            await self.close()
            raise NoAnswer(repr(e.exceptions)) from e
        reply: Reply = result.structured_content or {}
        if result.is_error:
            raise Refused(reply["error"])
        return reply

    async def connected(self) -> McpClient:
        """The client, opened if there is none."""
        if self.client is None:
            gateways = self.system.ready.gateways
            self._turn += 1
            url = gateways[self._turn % len(gateways)] + "/mcp"
            self.client = await self._stack.enter_async_context(
                in_own_task(_client(url, self.system.token(self.agent), self.mode))
            )
        return self.client

    async def close(self) -> None:
        """Let go of it, whatever it is in the middle of."""
        stack, self._stack, self.client = self._stack, AsyncExitStack(), None
        try:
            async with asyncio.timeout(2):
                await stack.aclose()
        except (Exception, ExceptionGroup):  # noqa: BLE001, S110  # a client of a dead gateway may end any way it likes
            pass


async def _resource(client: McpClient, uri: str) -> Reply:
    (content,) = (await client.read_resource(uri, cache_mode="bypass")).contents
    memory: Reply = json.loads(getattr(content, "text"))  # noqa: B009  # the union's other half has none
    return {"memory": memory}


@asynccontextmanager
async def _client(url: str, token: str, mode: str) -> AsyncIterator[McpClient]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=15) as http,
        McpClient(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client
