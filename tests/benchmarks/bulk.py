"""`python -m tests.benchmarks.bulk [--items N] [--writes N]`: an import, and who works beside it; a node's memory.

Embeddings come from the stub. The import goes through the ingest stream, as fast as it is taken. What is measured:

- an interactive store's p99 while 50,000 memories are imported by somebody else, beside its p99 on an idle bus:
  the goal is three times that at most;
- the node's own memory over 200,000 writes, the index being a process of its own (the façade of `tests.engines`): after
  the first quarter, in which caches fill, it should stay where it is.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import nats
from nats.aio.client import Client

from afterwit.bus import ingest, names
from afterwit.bus.identity.parts import NODE
from afterwit.bus.rpc import Requester
from afterwit.deploy.admin import connected_as
from afterwit.deploy.ready import Ready
from afterwit.schemas import Store
from tests.engines.qdrant import QdrantFacade
from tests.engines.waiting import wait_until

from . import up
from .corpus import Corpus
from .measuring import Timing
from .rest import memory_mb

IMPORTER: Final = "ida"
WRITER: Final = "will"
MOST_TIMES_SLOWER: Final = 3.0
MOST_GROWTH: Final = 0.15
_IDLE: Final = 400
_AT_ONCE: Final = 128
_STEPS: Final = 10
_SETTLED_WITHIN_S: Final = 1800.0
_UP: Final = (sys.executable, "-m", "tests.chaos.up")


@asynccontextmanager
async def _as(system: Ready, agent: str) -> AsyncIterator[Client]:
    nc = await nats.connect(system.nats, token=system.agents[agent], inbox_prefix=names.inbox(agent).encode())
    try:
        yield nc
    finally:
        await nc.close()


async def _imported(system: Ready, corpus: Corpus, items: int) -> float:
    """Import so many, until all are in the log and indexed; the seconds that it took."""
    begun = time.perf_counter()
    async with _as(system, IMPORTER) as nc:
        js, pool = nc.jetstream(), f"agent/{IMPORTER}"
        left = iter(range(items))

        async def publish() -> None:
            for _ in left:
                await ingest.publish(js, IMPORTER, pool, corpus.memory(pool))

        await asyncio.gather(*(publish() for _ in range(_AT_ONCE)))
    credentials = Path(system.data_dir) / "credentials" / f"{NODE}.json"
    async with connected_as(NODE, system.nats, credentials) as operator:
        js = operator.jetstream()

        async def settled() -> bool:
            consumer = await js.consumer_info(names.LOG, names.INDEXER)
            waiting = (await js.stream_info(names.INGEST)).state.messages
            return not (waiting or consumer.num_pending or consumer.num_ack_pending)

        await wait_until(settled, description="the import is done", timeout_s=_SETTLED_WITHIN_S)
    return time.perf_counter() - begun


async def _stores(requester: Requester, corpus: Corpus, until: Callable[[int], bool]) -> list[float]:
    """Seconds of one store after the other."""
    taken: list[float] = []
    while not until(len(taken)):
        request: Store = corpus.memory(f"agent/{WRITER}")
        begun = time.perf_counter()
        await requester.call(WRITER, "store", request)
        taken.append(time.perf_counter() - begun)
    return taken


async def beside_an_import(directory: Path, items: int) -> bool:
    """Whether the goal was met."""
    corpus = Corpus()
    async with up.started(up.WITH_A_STUB, directory, IMPORTER, WRITER) as system, _as(system, WRITER) as nc:
        requester = Requester(nc, timeout_s=60)
        await _stores(requester, corpus, lambda n: n >= _IDLE // 4)
        idle = Timing.of(await _stores(requester, corpus, lambda n: n >= _IDLE))
        importing = asyncio.create_task(_imported(system, Corpus(seed=8), items))
        beside = Timing.of(await _stores(requester, corpus, lambda _: importing.done()))
        took = await importing
    times = beside.p99 / idle.p99
    print(f"store, idle:             p50 {idle.p50:.2f} ms, p99 {idle.p99:.2f} ms ({idle.count})")
    print(f"store beside an import:  p50 {beside.p50:.2f} ms, p99 {beside.p99:.2f} ms ({beside.count})")
    print(f"{times:.1f} times the idle p99 (goal: at most {MOST_TIMES_SLOWER:g}); {items / took:.0f} items/s imported")
    return times <= MOST_TIMES_SLOWER


async def memory_over_writes(directory: Path, writes: int) -> bool:
    """Whether the node's memory stayed where it was after the first quarter."""
    corpus = Corpus()
    with QdrantFacade(directory / "qdrant") as qdrant:
        async with up.started((*_UP, "--qdrant-url", qdrant.url), directory, IMPORTER, WRITER) as system:
            (pid,) = (each.pid for each in system.processes if each.part == "node")
            sizes = []
            for step in range(_STEPS):
                took = await _imported(system, corpus, writes // _STEPS)
                sizes.append(memory_mb(pid)[1])
                done = (step + 1) * (writes // _STEPS)
                print(f"{done:8} writes: node {sizes[-1]:.0f} MB ({writes // _STEPS / took:.0f} items/s)", flush=True)
    growth = sizes[-1] / sizes[_STEPS // 4] - 1
    print(f"growth after the first quarter: {100 * growth:.1f} % (goal: at most {100 * MOST_GROWTH:g} %)")
    return growth <= MOST_GROWTH


def main() -> int:
    """The exit status: 1 if a goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bulk")
    parser.add_argument("--items", type=int, default=50_000, help="in the import (default 50,000; 0: leave it out)")
    parser.add_argument("--writes", type=int, default=200_000, help="over which memory is watched (0: leave it out)")
    given = parser.parse_args()
    return asyncio.run(_measured(given.items, given.writes))


async def _measured(items: int, writes: int) -> int:
    met = True
    with tempfile.TemporaryDirectory(prefix="afterwit-bulk-") as name:
        for part, count in ((beside_an_import, items), (memory_over_writes, writes)):
            if count:
                directory = Path(name) / part.__name__
                directory.mkdir()
                met &= await part(directory, count)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
