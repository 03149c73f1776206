"""A bus with real NATS, accounts and tokens, served by a fake node: what the gateway meets, without a memory node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import msgspec
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from nats.aio.client import Client as NatsClient

from afterwit.bus.connection import Credentials, connect
from afterwit.bus.identity import Agents, PoolRegistry, serve_callout
from afterwit.bus.mcp.gateway import serve
from afterwit.bus.mcp.settings import GatewaySettings
from afterwit.bus.notices import Notices
from afterwit.bus.rpc import Caller, RequestServer
from afterwit.bus.streams import ensure_streams
from afterwit.deploy.engines.nats import make_credentials, nats_config
from afterwit.schemas import OPERATIONS, NotFound, Notice
from tests.engines.fake_node import FakeNode
from tests.engines.nats_server import NatsServer


@dataclass
class FakeSystem:
    """Everything but gateways, which are started by `gateway`."""

    server: NatsServer
    secrets: Path
    nc: NatsClient
    node: FakeNode
    agents: Agents
    pools: PoolRegistry
    tokens: dict[str, str] = field(default_factory=dict)
    components: dict[str, str] = field(default_factory=lambda: {"index": "ok", "window": "ok", "inference": "ok"})

    def settings(self, **changes: Any) -> GatewaySettings:
        return GatewaySettings(
            port=0, nats_url=self.server.url, nats_credentials=self.secrets / "gateway.json", **changes
        )

    @asynccontextmanager
    async def gateway(self, **changes: Any) -> AsyncIterator[str]:
        """A gateway in this process; gives its URL."""
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        stop = asyncio.Event()
        serving = asyncio.create_task(serve(self.settings(**changes), ready=ready.set_result, stop=stop))
        try:
            await asyncio.wait((serving, ready), return_when=asyncio.FIRST_COMPLETED, timeout=60)
            if serving.done():
                await serving
            yield f"http://127.0.0.1:{ready.result()}"
        finally:
            stop.set()
            await serving

    async def create_pool(self, pool: str, *members: str) -> None:
        """A shared pool; the first member owns it."""
        await self.pools.create(pool, "A pool.", members[0])
        self.node.members[pool] = {members[0]}
        for member in members[1:]:
            await self.grant(pool, member)

    async def grant(self, pool: str, agent: str) -> None:
        owner = min(self.node.members[pool])
        await self.pools.grant(pool, agent, "reader", None, owner)
        self.node.members[pool].add(agent)

    @asynccontextmanager
    async def client(
        self, url: str, agent: str, *, mode: str, path: str = "/mcp", **options: Any
    ) -> AsyncIterator[Client]:
        """An MCP client of ``agent``."""
        headers = {"authorization": f"Bearer {self.tokens[agent]}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(url + path, http_client=http), mode=mode, **options) as client,
        ):
            yield client


@asynccontextmanager
async def fake_system(directory: Path, *agents: str) -> AsyncIterator[FakeSystem]:
    """The bus, with ``agents`` that exist."""
    secrets = directory / "credentials"
    server = NatsServer(directory / "nats")
    server._extra = nats_config(
        host="127.0.0.1", port=server.port, store_dir=directory / "nats", credentials=make_credentials(secrets)
    )
    with server:
        async with AsyncExitStack() as stack:
            nc = await connect(server.url, name="node", credentials=Credentials.from_file(secrets / "node.json"))
            stack.push_async_callback(nc.close)
            js = nc.jetstream()
            await ensure_streams(js)
            node, registry, pools, notices = FakeNode(), Agents(nc), PoolRegistry(nc), Notices(nc, js)
            system = FakeSystem(server, secrets, nc, node, registry, pools)

            async def tell(notice: Notice) -> None:
                await notices.publish([notice])

            node.told = tell
            for agent in agents:
                system.tokens[agent] = await registry.add(agent)
            await stack.enter_async_context(serve_callout(server.url, secrets / "callout.json", registry, pools))
            handlers = {op: _handler(node, op) for op in OPERATIONS}
            await stack.enter_async_context(
                RequestServer(nc, handlers, components=lambda: system.components, version="0.0.0")
            )
            yield system


def _handler(node: FakeNode, op: str) -> Callable[[Caller, Any], Awaitable[msgspec.Struct]]:
    async def answer(caller: Caller, request: msgspec.Struct) -> msgspec.Struct:
        if not hasattr(node, op):
            raise NotFound(f"nobody serves {op}")
        return await node.call(caller.agent, op, request)

    return answer
