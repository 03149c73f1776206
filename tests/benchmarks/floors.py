"""The floors: what the raw engines take for the same work, each as a measurement."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import nats
import numpy as np
from mcp import Client as McpClient
from nats.aio.client import Client as NatsClient
from nats.aio.msg import Msg
from qdrant_edge import (
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    Fusion,
    IdfParams,
    Modifier,
    Point,
    Prefetch,
    Query,
    QueryRequest,
    SearchParams,
    SparseVector,
    UpdateOperation,
)

from afterwit.memory_node.index import Calibration, IndexFilter, sparse_query
from afterwit.memory_node.index._points import DENSE, INDEXES, MEMORY, WORDS, corpus, engine_filter, point
from afterwit.schemas import LogEntry, Memory, Retrieve
from tests.engines.nats_server import NatsServer
from tests.engines.ports import free_port
from tests.engines.waiting import wait_until

from . import floor_server
from .stub import StubEmbedder

CANDIDATES: Final = 50
TOP_K: Final = 5


class EngineFloor:
    """A copy of the data in an engine of this process, asked without anything in between."""

    def __init__(self, directory: Path, calibration: Calibration) -> None:
        self._embedder = StubEmbedder()
        self._calibration = calibration
        config = EdgeConfig(
            vectors={DENSE: EdgeVectorParams(size=self._embedder.dimensions, distance=Distance.Dot)},
            sparse_vectors={WORDS: EdgeSparseVectorParams(modifier=Modifier.Idf)},
        )
        directory.mkdir()
        self._shard = EdgeShard.create(str(directory), config)
        for field, index in INDEXES.items():
            self._shard.update(UpdateOperation.create_field_index(field, index))

    def add(self, memories: Sequence[Memory]) -> None:
        """Add points as the node's index has them."""
        self._shard.update(UpdateOperation.upsert_points([self._point(memory) for memory in memories]))

    def query(self, text: str, pools: Sequence[str]) -> float:
        """Seconds of the hybrid query: the best by meaning, the best by words, fused, five memories read."""
        raw = self._embedder.embed([text], "query")
        vector = self._calibration.apply(raw, [text], "query")[0].tolist()
        words = sparse_query(text)
        filter = IndexFilter.of(Retrieve(query=text), pools=pools, valid_at=datetime.now(UTC))
        where = engine_filter(filter)
        idf = SearchParams(idf=IdfParams(corpus=corpus(filter)))
        sparse = SparseVector(words.indices, words.values)
        request = QueryRequest(
            limit=TOP_K,
            query=Fusion.Rrf(k=60),
            prefetches=[
                Prefetch(limit=CANDIDATES, query=Query.Nearest(vector, using=DENSE), filter=where),
                Prefetch(limit=CANDIDATES, query=Query.Nearest(sparse, using=WORDS), filter=where, params=idf),
            ],
            with_payload=[MEMORY],
            with_vector=False,
        )
        begun = time.perf_counter()
        found = self._shard.query(request)
        took = time.perf_counter() - begun
        assert len(found) == TOP_K
        return took

    def upsert(self, memory: Memory) -> float:
        """Seconds of writing one point."""
        operation = UpdateOperation.upsert_points([self._point(memory)])
        begun = time.perf_counter()
        self._shard.update(operation)
        return time.perf_counter() - begun

    def close(self) -> None:
        """Let go of the directory."""
        self._shard.close()

    def _point(self, memory: Memory) -> Point:
        raw = self._embedder.embed([memory.content], "passage")
        vector = self._calibration.apply(np.asarray(raw), [memory.content], "passage")[0].tolist()
        return point(LogEntry(memory=memory, change="created", actor=memory.author), vector)


class BusFloor:
    """Raw NATS with nats-py on both sides, and the MCP SDK with tools that do nothing."""

    def __init__(self, nc: NatsClient, mcp: McpClient, sizes: Mapping[str, int]) -> None:
        self._nc = nc
        self._js = nc.jetstream()
        self._mcp = mcp
        self._sizes = sizes
        self._noticed = asyncio.Event()

    async def listen(self) -> None:
        """Hear notices."""

        async def hear(_: Msg) -> None:
            self._noticed.set()

        await self._nc.subscribe(floor_server.NOTICE, cb=hear)
        await self._nc.flush()

    async def round_trip(self) -> Mapping[str, float]:
        """A request and its answer, of the sizes of `retrieve`."""
        begun = time.perf_counter()
        await self._nc.request(floor_server.ECHO, b"r" * self._sizes["request"], timeout=10)
        return {"nats round trip": time.perf_counter() - begun}

    async def publish(self) -> Mapping[str, float]:
        """A publish to a stream until its ack, of the size of `store`."""
        begun = time.perf_counter()
        await self._js.publish(floor_server.PLAIN, b"s" * self._sizes["store"])
        return {"jetstream publish": time.perf_counter() - begun}

    async def visible(self) -> Mapping[str, float]:
        """Publish with ack, another process's shared pull consumer, its notice back here."""
        self._noticed.clear()
        begun = time.perf_counter()
        await self._js.publish(floor_server.LOG, b"e" * self._sizes["entry"])
        async with asyncio.timeout(10):
            await self._noticed.wait()
        return {"publish, consume, notice": time.perf_counter() - begun}

    async def nothing(self) -> Mapping[str, float]:
        """The no-op tool."""
        begun = time.perf_counter()
        await self._mcp.call_tool("nothing", {})
        return {"mcp no-op": time.perf_counter() - begun}

    async def same_answer(self) -> Mapping[str, float]:
        """The tool that gives an answer of retrieve without doing anything for it."""
        begun = time.perf_counter()
        await self._mcp.call_tool("same_answer", {"query": "what"})
        return {"mcp same answer": time.perf_counter() - begun}


@asynccontextmanager
async def bus_floor(directory: Path, answer: dict[str, Any], sizes: Mapping[str, int]) -> AsyncIterator[BusFloor]:
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
