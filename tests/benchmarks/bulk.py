"""`python -m tests.benchmarks.bulk [PART]... [--items N] [--writes N]`: an import, and who works beside it or at it.

Embeddings come from the stub. The import goes through the ingest stream, as fast as it is taken. The parts:

- ``rate``: items a second from ingested to visible, beside what raw engines do with as many messages and points of the
  same size, through their Python clients: at least a tenth of the slower one;
- ``beside``: an interactive store's p99 during an import, beside its p99 on the idle bus afterwards: at most three
  times;
- ``nodes``: two nodes over one index (the façade of `tests.engines`) share an import, each between 40 and 60 %, and are
  together not slower than one, within a tenth;
- ``memory``: a node's own memory (PSS) over many writes, the index being a process of its own: after the first
  quarter, in which caches fill, it stays where it is.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import nats
from nats.aio.client import Client

from afterwit.bus import names
from afterwit.bus.identity.parts import NODE
from afterwit.bus.rpc import Requester
from afterwit.deploy.admin import connected_as
from afterwit.deploy.ready import Ready
from afterwit.schemas import Memory, Store
from tests.engines.nats_server import NatsServer
from tests.engines.qdrant import QdrantFacade

from . import up
from .corpus import Corpus
from .engine_floor import EngineFloor
from .importing import AT_ONCE, IMPORTER, at_rest, imported
from .measuring import Timing
from .rest import memory_mb

WRITER: Final = "will"
LEAST_OF_FLOOR: Final = 0.1
MOST_TIMES_SLOWER: Final = 3.0
SHARES: Final = (0.4, 0.6)
LEAST_OF_ONE_NODE: Final = 0.9
MOST_GROWTH: Final = 0.15
_IDLE: Final = 400
_FLOOR: Final = 5000
_STEPS: Final = 10
_NODES: Final = (sys.executable, "-m", "tests.chaos.up")


@asynccontextmanager
async def _as(system: Ready, agent: str) -> AsyncIterator[Client]:
    nc = await nats.connect(system.nats, token=system.agents[agent], inbox_prefix=names.inbox(agent).encode())
    try:
        yield nc
    finally:
        await nc.close()


async def rate(directory: Path, items: int) -> bool:
    """From ingested to visible, beside raw engines in the same run."""
    async with up.started(up.WITH_A_STUB, directory, IMPORTER, WRITER) as system, _as(system, WRITER) as nc:
        stored = (await Requester(nc).call(WRITER, "store", Corpus().memory(f"agent/{WRITER}"))).memory
        upsert, alone = _upsert_rates(directory, stored)
        floors = {"publish": await _publish_rate(directory, stored), "upsert": upsert}
        await imported(system, items // 10, seed=9)
        took = await imported(system, items)
    slower = min(floors, key=lambda name: floors[name])
    share = items / took / floors[slower]
    print(f"from ingested to visible: {items / took:.0f} items/s; raw {_rates(floors)}, the engine alone {alone:.0f}/s")
    print(f"{share:.2f} of the slower, {slower} (goal: at least {LEAST_OF_FLOOR:g})")
    return share >= LEAST_OF_FLOOR


def _rates(floors: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.0f}/s" for name, value in floors.items())


async def _publish_rate(directory: Path, memory: Memory) -> float:
    """Messages a second into a stream, with nats-py alone and as many under way as the importer has."""
    data, left = msgspec.json.encode(memory), iter(range(_FLOOR))
    with NatsServer(directory / "floor") as server:
        nc = await nats.connect(server.url)
        js = nc.jetstream()
        await js.add_stream(name="FLOOR", subjects=["floor.>"])

        async def publish() -> None:
            for number in left:
                await (await js.publish_async(f"floor.{number}", data))

        begun = time.perf_counter()
        await asyncio.gather(*(publish() for _ in range(AT_ONCE)))
        took = time.perf_counter() - begun
        await nc.close()
    return _FLOOR / took


def _upsert_rates(directory: Path, memory: Memory) -> tuple[float, float]:
    """Points a second into the engine in this process, of memories as the import has.

    First by a program that has all values at hand; then of the engine alone, without its Python binding.
    """
    corpus = Corpus(seed=10)
    memories = [_like(memory, corpus.memory(memory.pool), number) for number in range(2 * _FLOOR)]
    floor = EngineFloor(directory / "engine")
    try:
        return _FLOOR / floor.load(memories[:_FLOOR]), _FLOOR / floor.add(memories[_FLOOR:])
    finally:
        floor.close()


def _like(memory: Memory, request: Store, number: int) -> Memory:
    return msgspec.structs.replace(
        memory,
        id=f"00000000-0000-7000-8000-{number:012}",
        content=request.content,
        kind=request.kind,
        entities=request.entities,
        tags=request.tags,
        occurred_at=request.occurred_at or memory.occurred_at,
    )


async def _stores(requester: Requester, corpus: Corpus, until: Callable[[int], bool]) -> list[float]:
    """Seconds of one store after the other."""
    taken: list[float] = []
    while not until(len(taken)):
        request = corpus.memory(f"agent/{WRITER}")
        begun = time.perf_counter()
        await requester.call(WRITER, "store", request)
        taken.append(time.perf_counter() - begun)
    return taken


async def beside(directory: Path, items: int) -> bool:
    """Interactive stores during an import, beside those once all is done: both into pools of one size."""
    corpus = Corpus()
    async with up.started(up.WITH_A_STUB, directory, IMPORTER, WRITER) as system, _as(system, WRITER) as nc:
        requester = Requester(nc, timeout_s=60)
        await _stores(requester, corpus, lambda n: n >= _IDLE // 4)
        empty = Timing.of(await _stores(requester, corpus, lambda n: n >= _IDLE))
        importing = asyncio.create_task(imported(system, items))
        during = Timing.of(await _stores(requester, corpus, lambda _: importing.done()))
        took = await importing
        await at_rest(system)
        idle = Timing.of(await _stores(requester, corpus, lambda n: n >= _IDLE))
    times = during.p99 / idle.p99
    print(f"store, idle, few memories: {_quantiles(empty)}")
    print(f"store beside an import:    {_quantiles(during)}")
    print(f"store, idle afterwards:    {_quantiles(idle)}")
    print(f"{times:.1f} times the idle p99 (goal: at most {MOST_TIMES_SLOWER:g}); {items / took:.0f} items/s imported")
    return times <= MOST_TIMES_SLOWER


def _quantiles(timing: Timing) -> str:
    return f"p50 {timing.p50:.2f} ms, p99 {timing.p99:.2f} ms ({timing.count})"


async def nodes(directory: Path, items: int) -> bool:
    """One node, then two, over an index of their own."""
    rates, shares = [], [0.0]
    for count in (1, 2):
        place = directory / str(count)
        place.mkdir()
        with QdrantFacade(place / "qdrant") as qdrant:
            command = (*_NODES, "--qdrant-url", qdrant.url, "--nodes", str(count))
            async with up.started(command, place, IMPORTER) as system:
                await imported(system, items // 10, seed=9)
                before = await _indexed(system, count)
                rates.append(items / await imported(system, items))
                done = [after - before[pid] for pid, after in (await _indexed(system, count)).items()]
                shares = [each / sum(done) for each in done]
    gain = rates[1] / rates[0]
    print(f"one node {rates[0]:.0f} items/s, two {rates[1]:.0f} items/s: {gain:.2f} (goal: {LEAST_OF_ONE_NODE:g})")
    print(f"of two, each indexed {' and '.join(f'{share:.0%}' for share in shares)} (goal: 40 to 60 %)")
    return gain >= LEAST_OF_ONE_NODE and all(SHARES[0] <= share <= SHARES[1] for share in shares)


async def _indexed(system: Ready, count: int) -> dict[int, int]:
    """How many entries each node has indexed, by its process."""
    credentials = Path(system.data_dir) / "credentials" / f"{NODE}.json"
    found: dict[int, int] = {}
    async with connected_as(NODE, system.nats, credentials) as nc:
        inbox = nc.new_inbox()
        answers = await nc.subscribe(inbox)
        await nc.publish(names.SERVICE_STATS, b"", reply=inbox)
        while len(found) < count:
            stats: Any = msgspec.json.decode((await answers.next_msg(timeout=10)).data)
            found[int(stats["metadata"]["pid"])] = stats["endpoints"][0]["data"]["work"]["indexed"]
    return found


async def memory(directory: Path, writes: int) -> bool:
    """The node's memory, a tenth of the writes after the other."""
    with QdrantFacade(directory / "qdrant") as qdrant:
        async with up.started((*_NODES, "--qdrant-url", qdrant.url), directory, IMPORTER) as system:
            (pid,) = (each.pid for each in system.processes if each.part == "node")
            sizes = []
            for step in range(1, _STEPS + 1):
                took = await imported(system, writes // _STEPS, seed=step)
                sizes.append(memory_mb(pid)[0])
                done, per_s = step * (writes // _STEPS), writes // _STEPS / took
                print(f"{done:8} writes: node {sizes[-1]:.0f} MB ({per_s:.0f} items/s)", flush=True)
    growth = sizes[-1] / sizes[_STEPS // 4] - 1
    print(f"growth after the first quarter: {100 * growth:.1f} % (goal: at most {100 * MOST_GROWTH:g} %)")
    return growth <= MOST_GROWTH


PARTS: Final[dict[str, Callable[[Path, int], Awaitable[bool]]]] = {
    "rate": rate,
    "beside": beside,
    "nodes": nodes,
    "memory": memory,
}


def main() -> int:
    """The exit status: 1 if a goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bulk")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--items", type=int, default=10_000, help="in an import (default 10,000)")
    parser.add_argument("--writes", type=int, default=20_000, help="over which memory is watched (default 20,000)")
    given = parser.parse_args()
    if unknown := set(given.parts) - PARTS.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    return asyncio.run(_measured(given.parts or list(PARTS), given.items, given.writes))


async def _measured(parts: list[str], items: int, writes: int) -> int:
    met = True
    with tempfile.TemporaryDirectory(prefix="afterwit-bulk-") as name:
        for part in parts:
            directory = Path(name) / part
            directory.mkdir()
            met &= await PARTS[part](directory, writes if part == "memory" else items)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
