"""The floors of the bus: raw NATS with nats-py on both sides, and the MCP SDK with tools that do nothing."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import nats
from mcp import Client as McpClient
from nats.aio.client import Client as NatsClient
from nats.aio.msg import Msg

from tests.engines.nats_server import NatsServer
from tests.engines.ports import free_port
from tests.engines.waiting import wait_until

from . import floor_server

ROUND_TRIP: Final = "NATS request and answer"
PUBLISH: Final = "JetStream publish with ack"
VISIBLE: Final = "publish, pull consumer, notice back"
NOTHING: Final = "MCP tool that does nothing"
SAME_ANSWER: Final = "MCP tool that only answers the same"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of the real messages, in bytes."""

    request: int
    store: int
    entry: int


class BusFloor:
    """Each method is a `Measurement`."""

    def __init__(self, nc: NatsClient, mcp: McpClient, sizes: Sizes) -> None:
        self._nc = nc
        self._js = nc.jetstream()
        self._mcp = mcp
        self._sizes = sizes
        self._noticed = asyncio.Event()

    async def listen(self) -> None:
        """Hear notices."""
        await self._nc.subscribe(floor_server.NOTICE, cb=self._hear)
        await self._nc.flush()

    async def round_trip(self) -> Mapping[str, float]:
        """A request and its answer, of the sizes of `retrieve`."""
        begun = time.perf_counter()
        await self._nc.request(floor_server.ECHO, b"r" * self._sizes.request, timeout=10)
        return {ROUND_TRIP: time.perf_counter() - begun}

    async def publish(self) -> Mapping[str, float]:
        """A publish to a stream until its ack, of the size of `store`."""
        begun = time.perf_counter()
        await self._js.publish(floor_server.PLAIN, b"s" * self._sizes.store)
        return {PUBLISH: time.perf_counter() - begun}

    async def visible(self) -> Mapping[str, float]:
        """A publish with ack, another process's shared pull consumer, and its notice back here."""
        self._noticed.clear()
        begun = time.perf_counter()
        await self._js.publish(floor_server.LOG, b"e" * self._sizes.entry)
        async with asyncio.timeout(10):
            await self._noticed.wait()
        return {VISIBLE: time.perf_counter() - begun}

    async def nothing(self) -> Mapping[str, float]:
        """The SDK's cost alone."""
        begun = time.perf_counter()
        await self._mcp.call_tool("nothing", {})
        return {NOTHING: time.perf_counter() - begun}

    async def same_answer(self) -> Mapping[str, float]:
        """The SDK's cost with an answer of retrieve, which the client checks against its schema."""
        begun = time.perf_counter()
        await self._mcp.call_tool("same_answer", {"query": "what"})
        return {SAME_ANSWER: time.perf_counter() - begun}

    async def _hear(self, _: Msg) -> None:
        self._noticed.set()


@asynccontextmanager
async def bus_floor(directory: Path, answer: dict[str, Any], sizes: Sizes) -> AsyncIterator[BusFloor]:
    """A NATS server of its own, and the far side in a process of its own."""
    answer_file, ready_file, port = directory / "answer.json", directory / "floor-ready", free_port()
    answer_file.write_text(json.dumps(answer, ensure_ascii=False))
    with NatsServer(directory / "floor") as server:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.benchmarks.floor_server"),
            *(server.url, str(port), str(answer_file), str(ready_file)),
        )
        try:
            await wait_until(ready_file.exists, description="the far side of the floors is ready")
            nc = await nats.connect(server.url)
            async with McpClient(f"http://127.0.0.1:{port}/mcp", mode="2026-07-28") as mcp:
                await mcp.list_tools()
                floor = BusFloor(nc, mcp, sizes)
                await floor.listen()
                yield floor
            await nc.close()
        finally:
            process.kill()
            await process.wait()
