"""Afterwit itself under measurement: node, gateway, NATS and this client are processes of their own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2
import nats
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import Subscription
from nats.aio.msg import Msg

from afterwit.bus import names
from afterwit.bus.identity.parts import ADMIN
from afterwit.bus.rpc import Requester
from afterwit.deploy.admin import connected_as
from afterwit.deploy.ready import Ready
from afterwit.schemas import Memory, PoolCreate, Retrieve, Store, StoreMany, codec
from tests.engines.waiting import wait_until

from . import up
from .corpus import AGENT, SHARED, WATCHED, Corpus, fill, pools
from .engine_floor import TOP_K

RETRIEVE: Final = "retrieve over NATS"
RETRIEVE_MCP: Final = "retrieve over MCP"
STORE: Final = "store, visible, over NATS"
STORE_MCP: Final = "store, visible, over MCP"
ACCEPTED: Final = "store, accepted, over NATS"
NOTICE: Final = "store to notice, NATS subscriber"
NOTICE_MCP: Final = "store to notice, MCP subscriber"


@dataclass(slots=True)
class Product:
    """The running system, filled, and a client of each kind."""

    system: Ready
    corpus: Corpus
    requester: Requester
    mcp: McpClient
    memories: list[Memory]
    heard: dict[str, float] = field(default_factory=dict)
    """When the plain NATS subscriber heard of a memory, by its id."""
    watched: asyncio.Event = field(default_factory=asyncio.Event)
    watched_at: float = 0.0

    async def retrieve(self) -> Mapping[str, float]:
        """Over NATS, in all pools that the agent may read."""
        request = Retrieve(query=self.corpus.query(), top_k=TOP_K)
        begun = time.perf_counter()
        reply = await self.requester.call(AGENT, "retrieve", request)
        took = time.perf_counter() - begun
        assert reply.total_candidates
        assert not reply.degraded
        return {RETRIEVE: took}

    async def store(self) -> Mapping[str, float]:
        """Over NATS until it can be found, into a shared pool."""
        request = self.corpus.memory(SHARED)
        begun = time.perf_counter()
        reply = await self.requester.call(AGENT, "store", request)
        took = time.perf_counter() - begun
        assert reply.memory.seq
        await self._told(reply.memory.id)
        return {STORE: took}

    async def accepted(self) -> Mapping[str, float]:
        """Over NATS until it is promised."""
        request = _accepted(self.corpus.memory(SHARED))
        begun = time.perf_counter()
        reply = await self.requester.call(AGENT, "store", request)
        took = time.perf_counter() - begun
        await self._told(reply.memory.id)
        return {ACCEPTED: took}

    async def notice(self) -> Mapping[str, float]:
        """From a store over NATS to its notice, at a plain NATS subscriber and at one over MCP."""
        request = self.corpus.memory(WATCHED)
        self.watched.clear()
        begun = time.perf_counter()
        reply = await self.requester.call(AGENT, "store", request)
        async with asyncio.timeout(10):
            await self.watched.wait()
        return {NOTICE: await self._told(reply.memory.id) - begun, NOTICE_MCP: self.watched_at - begun}

    async def retrieve_over_mcp(self) -> Mapping[str, float]:
        """The same over MCP."""
        arguments = {"query": self.corpus.query(), "top_k": TOP_K}
        begun = time.perf_counter()
        result = await self.mcp.call_tool("memory_retrieve", arguments)
        took = time.perf_counter() - begun
        assert not result.is_error, result
        return {RETRIEVE_MCP: took}

    async def store_over_mcp(self) -> Mapping[str, float]:
        """The same over MCP."""
        arguments = codec.to_plain(self.corpus.memory(SHARED))
        begun = time.perf_counter()
        result = await self.mcp.call_tool("memory_store", arguments)
        took = time.perf_counter() - begun
        assert not result.is_error, result
        await self._told((result.structured_content or {})["memory"]["id"])
        return {STORE_MCP: took}

    async def watch(self, events: Subscription) -> None:
        """Note when the MCP subscriber is told."""
        async for _ in events:
            self.watched_at = time.perf_counter()
            self.watched.set()

    async def hear(self, msg: Msg) -> None:
        """Note when the plain NATS subscriber is told."""
        self.heard[names.parse_changed(msg.subject)[2]] = time.perf_counter()

    async def _told(self, id: str) -> float:
        """When the plain NATS subscriber was told of a memory: by then nothing is left to do for it."""
        await wait_until(lambda: id in self.heard, description="the notice came")
        return self.heard.pop(id)


@asynccontextmanager
async def product(directory: Path, count: int) -> AsyncIterator[Product]:
    """The system with ``count`` memories."""
    directory.mkdir()
    async with AsyncExitStack() as stack:
        system = await stack.enter_async_context(up.started(up.WITH_A_STUB, directory, AGENT))
        corpus = Corpus()
        memories = await _filled(system, corpus, count)

        # Pools were made after the first of these connections could have been: they are grants of this one.
        nc = await nats.connect(
            system.nats, token=system.agents[AGENT], inbox_prefix=names.inbox(AGENT).encode(), name="benchmark"
        )
        stack.push_async_callback(nc.close)
        mcp = await stack.enter_async_context(_mcp(system))
        await mcp.list_tools()
        events = await stack.enter_async_context(
            (await stack.enter_async_context(_mcp(system))).listen(resource_subscriptions=[f"memory://{WATCHED}"])
        )
        running = Product(system, corpus, Requester(nc), mcp, memories)
        for pool in (SHARED, WATCHED):
            await nc.subscribe(names.changes_of(pool), cb=running.hear)
        await nc.flush()
        watching = asyncio.create_task(running.watch(events))
        try:
            yield running
        finally:
            watching.cancel()
            await asyncio.wait((watching,))


async def _filled(system: Ready, corpus: Corpus, count: int) -> list[Memory]:
    credentials = Path(system.data_dir) / "credentials" / f"{ADMIN}.json"
    async with connected_as(ADMIN, system.nats, credentials) as nc:
        requester = Requester(nc, timeout_s=120)
        for place in pools():
            if place.pool.startswith("shared/"):
                await requester.call(place.writer, "pool_create", PoolCreate(pool=place.pool))
        memories: list[Memory] = []
        for writer, batch in fill(corpus, count):
            reply = await requester.call(writer, "store_many", StoreMany(items=tuple(map(codec.to_plain, batch))))
            memories += (_stored(result) for result in reply.results)
        return memories


def _stored(result: Any) -> Memory:
    assert result.memory is not None, result.error
    memory: Memory = result.memory
    return memory


def _accepted(request: Store) -> Store:
    return codec.convert({**codec.to_plain(request), "ack": "accepted"}, Store)


@asynccontextmanager
async def _mcp(system: Ready) -> AsyncIterator[McpClient]:
    headers = {"authorization": f"Bearer {system.agents[AGENT]}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        McpClient(streamable_http_client(system.mcp, http_client=http), mode="2026-07-28") as client,
    ):
        yield client
