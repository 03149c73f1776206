"""`python -m tests.benchmarks.scale [--memories N]... [--rounds N] [--keep DIR]`: how retrieval grows.

Sixteen callers ask at once, of 10,000 and of 100,000 memories in 200 pools, in one pool, in five and in all. Beside
each figure stands that of the raw engine: one hybrid query, with the same filter, over the same points, asked by as
many callers in the same run, that brings as many memories as the node looks at. The node's time is told twice, with and
without its stage ``embed``: the embedder is a stub (see `stub`), but there too a caller waits for the fifteen others,
who have the processor. Processor time stands there as well: of the node's whole process and of the one that the engine
is in, which others on the machine disturb less. Last, what the index finds under filters is compared with an exact
search in plain numpy.

The exit status is 1 if retrieval, the embedding call apart, takes more than twice what the engine does (p50), or loses
recall.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any, Final, TypeVar

import msgspec
import nats
import numpy as np
from numpy.typing import NDArray
from qdrant_edge import EdgeShard, QueryRequest, ScrollRequest
from rich.console import Console
from rich.table import Table

from afterwit.bus import names
from afterwit.bus.identity.parts import ADMIN, NODE
from afterwit.bus.log import Log
from afterwit.bus.rpc import Requester
from afterwit.deploy.admin import connected_as
from afterwit.deploy.ready import Ready
from afterwit.memory_node.index import Calibration, EdgeIndex, IndexFilter, IndexQuery, embedding
from afterwit.schemas import Explain, LogEntry, Memory, PoolCreate, Retrieve, Where
from afterwit.schemas.pools import Pools
from tests.engines.waiting import wait_until

from . import up
from .corpus import AGENT
from .engine_floor import hybrid
from .measuring import Timing
from .rest import cpu_s
from .scale_corpus import NARROWINGS, POOLS, SCOPES, ScaleCorpus
from .stub import StubEmbedder

T = TypeVar("T")

CALLERS: Final = 16
MAX_RATIO: Final = 2.0
MIN_RECALL: Final = 0.99
_CANDIDATES: Final = 50
"""How many memories the node looks at for an answer."""
_READERS: Final = 2
_BLOCKS: Final = 3
_RECALL_QUERIES: Final = 20
_PAGE: Final = 1000
_INDEXED_WITHIN_S: Final = 900
_LOOK_AGAIN_S: Final = 2.0
_ROUNDING: Final = 1e-5
_STUB: Final = StubEmbedder()
_NOTHING_BESIDE: Final = {f"AFTERWIT_REFLECT_ON_{why}": "false" for why in ("SESSION_END", "RECURRENCE", "SCHEDULE")}
"""Else the node would look back while it is measured."""


@dataclass(frozen=True, slots=True)
class Grown:
    """Of one number of memories: seconds of each call by scope, and recall by scope and filter.

    ``apart`` is ``node`` without the embedding call. ``node_cpu`` and ``engine_cpu`` are the mean of each block of
    calls, of the whole process.
    """

    node: dict[str, list[float]]
    apart: dict[str, list[float]]
    over_nats: dict[str, list[float]]
    engine: dict[str, list[float]]
    node_cpu: dict[str, list[float]]
    engine_cpu: dict[str, list[float]]
    recall: dict[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Points:
    """All that is in an index: memories, and their vectors as rows."""

    memories: Sequence[Memory]
    vectors: NDArray[np.float32]
    row_of: Mapping[str, int]


async def grown(directory: Path, count: int, rounds: int) -> Grown:
    """Fill a system, unless ``directory`` holds one, and measure it."""
    directory.mkdir(parents=True, exist_ok=True)
    copy = directory / "engine"
    if not copy.exists():
        shutil.rmtree(directory / "data", ignore_errors=True)
        async with _started(directory) as system:
            await _fill(system, count)
        shutil.copytree(directory / "data" / "index", directory / "copying")
        (directory / "copying").rename(copy)
    calibration = await asyncio.to_thread(Calibration.load_or_measure, _STUB, directory)
    recall = await _recall(copy, calibration, count)
    shard = EdgeShard.load(str(_shard_in(copy)))
    figures = Grown({}, {}, {}, {}, {}, {}, recall)
    queries = ScaleCorpus(seed=count)
    async with AsyncExitStack() as stack:
        system = await stack.enter_async_context(_started(directory))
        (pid,) = (process.pid for process in system.processes if process.part == "node")
        nc = await nats.connect(system.nats, token=system.agents[AGENT], inbox_prefix=names.inbox(AGENT).encode())
        stack.push_async_callback(nc.close)
        threads = stack.enter_context(ThreadPoolExecutor(_READERS))
        node, engine = _Node(Requester(nc, timeout_s=120), figures), _Engine(shard, threads, figures)
        for scope, pools in SCOPES.items():
            for block in range(_BLOCKS + 1):  # the first one is to warm up
                asked = [queries.query(count) for _ in range(rounds)]
                used = cpu_s(pid)
                await _at_once(asked, lambda query, s=scope, p=pools: node.ask(query, s, p))  # type: ignore[misc]
                figures.node_cpu.setdefault(scope, []).append((cpu_s(pid) - used) / rounds)
                await node.look_up()
                requests = [hybrid(each, _STUB.embed([each], "query")[0], pools, limit=_CANDIDATES) for each in asked]
                used = time.process_time()  # the engine works in threads of its own
                await _at_once(requests, lambda request, s=scope: engine.ask(request, s))  # type: ignore[misc]
                figures.engine_cpu.setdefault(scope, []).append((time.process_time() - used) / rounds)
                if not block:
                    for taken in (
                        figures.over_nats,
                        figures.node,
                        figures.apart,
                        figures.engine,
                        figures.node_cpu,
                        figures.engine_cpu,
                    ):
                        taken.pop(scope)
    shard.close()
    return figures


class _Node:
    """Retrieval over NATS; what the node itself took is in the record that each retrieval leaves."""

    def __init__(self, requester: Requester, figures: Grown) -> None:
        self._requester = requester
        self._figures = figures
        self._asked: list[tuple[str, str]] = []

    async def ask(self, query: str, scope: str, pools: Sequence[str]) -> None:
        request = Retrieve(query=query, pools=() if pools is POOLS else tuple(pools))
        begun = time.perf_counter()
        reply = await self._requester.call(AGENT, "retrieve", request)
        self._figures.over_nats.setdefault(scope, []).append(time.perf_counter() - begun)
        assert not reply.degraded
        self._asked.append((scope, reply.retrieval_id))

    async def look_up(self) -> None:
        """What the node took, of all that was asked since the last time."""
        for scope, id in self._asked:
            record = await self._requester.call(AGENT, "explain", Explain(retrieval_id=id))
            self._figures.node.setdefault(scope, []).append(record.took_ms / 1000)
            self._figures.apart.setdefault(scope, []).append((record.took_ms - record.stages["embed"]) / 1000)
        self._asked.clear()


class _Engine:
    """The engine alone, asked as the node asks it: from an event loop, in two threads."""

    def __init__(self, shard: EdgeShard, threads: ThreadPoolExecutor, figures: Grown) -> None:
        self._shard = shard
        self._threads = threads
        self._figures = figures

    async def ask(self, request: QueryRequest, scope: str) -> None:
        begun = time.perf_counter()
        found = await asyncio.get_running_loop().run_in_executor(self._threads, self._shard.query, request)
        self._figures.engine.setdefault(scope, []).append(time.perf_counter() - begun)
        assert len(found) == _CANDIDATES


async def _at_once(queries: Sequence[T], ask: Callable[[T], Awaitable[None]]) -> None:
    """All of ``queries``, from `CALLERS` who each ask again when they are answered."""
    left = iter(queries)

    async def caller() -> None:
        for query in left:
            await ask(query)

    async with asyncio.TaskGroup() as group:
        for _ in range(CALLERS):
            group.create_task(caller())


def _started(directory: Path) -> Any:
    (directory / "ready.json").unlink(missing_ok=True)
    return up.started(up.WITH_A_STUB, directory, AGENT, variables=_NOTHING_BESIDE)


async def _fill(system: Ready, count: int) -> None:
    """Through the log, which the index is filled from: so no conflicts are looked for."""
    credentials = Path(system.data_dir) / "credentials"
    async with connected_as(ADMIN, system.nats, credentials / f"{ADMIN}.json") as nc:
        requester = Requester(nc, timeout_s=120)
        for pool in POOLS[1:]:
            await requester.call(AGENT, "pool_create", PoolCreate(pool=pool))
        async with connected_as(NODE, system.nats, credentials / f"{NODE}.json") as node:
            log = Log(node)
            for batch in ScaleCorpus(seed=7).batches(count):
                failed = [
                    r for r in await log.append_many([(e, 0) for e in _entries(batch)]) if isinstance(r, Exception)
                ]
                assert not failed, failed

        async def indexed() -> bool:
            await asyncio.sleep(_LOOK_AGAIN_S)  # the indexer gives way to whoever asks
            reply = await requester.call(AGENT, "pools", Pools())
            return sum(sum(pool.counts.values()) for pool in reply.pools) == count

        await wait_until(indexed, description="all is indexed", timeout_s=_INDEXED_WITHIN_S)


def _entries(memories: Sequence[Memory]) -> list[LogEntry]:
    vectors = _STUB.embed([memory.content for memory in memories], "passage")
    return [
        LogEntry(memory=memory, change="created", actor=AGENT, embedding=embedding(_STUB.model, vector))
        for memory, vector in zip(memories, vectors, strict=True)
    ]


async def _recall(copy: Path, calibration: Calibration, count: int) -> dict[tuple[str, str], float]:
    """The share of the exact best 50 by meaning that the index brings, by scope and filter."""
    points = await asyncio.to_thread(_all_points, _shard_in(copy))
    corpus = ScaleCorpus(seed=count + 1)
    found: dict[tuple[str, str], float] = {}
    async with await EdgeIndex.open(copy, calibration) as index:
        for scope, pools in SCOPES.items():
            members = frozenset(pools)
            for name, narrowing in NARROWINGS.items():
                there = [m.pool in members and narrowing.holds(m) for m in points.memories]
                rows = np.flatnonzero(np.array(there))
                where = IndexFilter.of(Where(**narrowing.fields), pools=tuple(pools), valid_at=datetime.now(UTC))
                shares = []
                for _ in range(_RECALL_QUERIES):
                    query = corpus.query(count)
                    raw = _STUB.embed([query], "query")[0]
                    # No word of it is asked for: what words bring would only hide what meaning loses.
                    hits = await index.search(IndexQuery(text="的", vector=raw, filter=where, limit=_CANDIDATES))
                    vector = calibration.apply(raw[None, :], ["的"], "query")[0]
                    shares.append(_share([hit.id for hit in hits], points, rows, vector))
                found[scope, name] = float(np.mean(shares))
    return found


def _share(ids: Sequence[str], points: Points, rows: NDArray[np.intp], vector: NDArray[np.float32]) -> float:
    """How many of ``ids`` are as near as the exact best are, to within a rounding error: some are equally near."""
    exact = np.sort(points.vectors[rows] @ vector)[::-1][:_CANDIDATES]
    if not len(exact):
        return 1.0
    found = points.vectors[[points.row_of[id] for id in ids]] @ vector
    return float(np.sum(found >= exact[-1] - _ROUNDING)) / len(exact)


def _all_points(path: Path) -> Points:
    shard = EdgeShard.load(str(path))
    memories: list[Memory] = []
    vectors: list[NDArray[np.float32]] = []
    offset: Any = None
    while True:
        request = ScrollRequest(offset=offset, limit=_PAGE, with_payload=["memory"], with_vector=["dense"])
        records, offset = shard.scroll(request)
        read: list[Any] = records  # the stubs leave payload and vectors open
        memories += (msgspec.json.decode(record.payload["memory"], type=Memory) for record in read)
        vectors.append(np.array([record.vector["dense"] for record in read], dtype=np.float32))
        if offset is None:
            shard.close()
            return Points(memories, np.concatenate(vectors), {memory.id: row for row, memory in enumerate(memories)})


def _shard_in(index: Path) -> Path:
    """The one shard of the one index under ``index``."""
    (layout,) = (each for each in index.iterdir() if each.is_dir())
    return layout / (layout / "current").read_text("ascii")


def show(console: Console, count: int, figures: Grown) -> bool:
    """Print a table; whether the goals are met."""
    table = Table(
        "", "p50 ms", "p99", "engine p50", "p99", "ratio p50", "p99", title=f"{count} memories, {CALLERS} callers"
    )
    met = True
    for scope in SCOPES:
        floor = Timing.of(figures.engine[scope])
        for name, taken in (
            ("embedding apart", figures.apart),
            ("node", figures.node),
            ("over NATS", figures.over_nats),
        ):
            timing = Timing.of(taken[scope])
            ratio = timing.p50 / floor.p50
            met = met and (taken is not figures.apart or ratio <= MAX_RATIO)
            cells = (timing.p50, timing.p99, floor.p50, floor.p99, ratio, timing.p99 / floor.p99)
            table.add_row(f"{scope}, {name}", *(f"{cell:.2f}" for cell in cells))
        node, engine = 1000 * mean(figures.node_cpu[scope]), 1000 * mean(figures.engine_cpu[scope])
        table.add_row(
            f"{scope}, processor, mean", f"{node:.2f}", "", f"{engine:.2f}", "", f"{node / engine:.2f}", style="dim"
        )
    console.print(table)
    recall = Table("recall of the best 50", *NARROWINGS)
    for scope in SCOPES:
        recall.add_row(scope, *(f"{figures.recall[scope, name]:.4f}" for name in NARROWINGS))
    console.print(recall)
    return met and min(figures.recall.values()) >= MIN_RECALL


def main() -> int:
    """Measure; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.scale")
    parser.add_argument("--memories", type=int, action="append", help="how many (default 10,000 and 100,000)")
    parser.add_argument("--rounds", type=int, default=160, help="queries in each of three blocks (default 160)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what was filled there, for the next run")
    given = parser.parse_args()
    console = Console(width=120)
    met = []
    with tempfile.TemporaryDirectory(prefix="afterwit-scale-") as temporary:
        for count in given.memories or (10_000, 100_000):
            directory = (given.keep or Path(temporary)) / str(count)
            met.append(show(console, count, asyncio.run(grown(directory, count, given.rounds))))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
