"""`python -m tests.benchmarks.tracing [--events N]`: tracing 20 steps back, beside the raw reads for the same steps.

The floor is NATS alone: one direct get with `multi_last` for each step, with a nats-py client and nothing of ours. The
exit status is 1 if the 99th percentile is not under 20 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client
from rich.console import Console

from afterwit.bus import names
from afterwit.bus.connection import connect
from afterwit.bus.log import Log
from afterwit.bus.rpc import Caller
from afterwit.bus.streams import ensure_streams
from afterwit.memory_node.access import Access
from afterwit.memory_node.giving_way import Background, Way
from afterwit.memory_node.index import Calibration, EdgeIndex
from afterwit.memory_node.operations.tracing import Tracing
from afterwit.memory_node.rebuilding import batches_of
from afterwit.schemas import Link, LogEntry, Trace
from tests.embedders import WordEmbedder
from tests.engines.nats_server import NatsServer
from tests.samples import NOON, entry, new_id

from .measuring import Timing

DEPTH = 20
MAX_P99_MS = 20.0
_ROUNDS = 300
_BATCH = 1000
_POOL = "agent/alice"


async def measure(console: Console, events: int, directory: Path) -> bool:
    """Print both figures; whether the goal is met."""
    with NatsServer(directory / "nats") as server:
        nc = await connect(server.url, name="benchmark")
        raw = await nats.connect(server.url)
        try:
            await ensure_streams(nc.jetstream())
            log = Log(nc)
            chains = [_chain() for _ in range(events // (2 * DEPTH))]
            await _fill(log, [event for chain in chains for event in chain])
            console.print(f"{sum(map(len, chains))} events in chains of {DEPTH} steps, two causes a step")
            calibration = await asyncio.to_thread(Calibration.measure, WordEmbedder())
            nobody: Any = None  # one's own pool needs no grant
            async with await EdgeIndex.open(directory / "index", calibration) as index:
                await index.rebuilt(batches_of(log, Background(Way())))
                tracing = Tracing(access=Access(nobody, nobody), log=log, index=index, calibration=calibration)
                ours, floor = await _rounds(tracing, raw, chains)
        finally:
            await raw.close()
            await nc.close()
    ratio = ours.p50 / floor.p50
    console.print(f"trace     p50 {ours.p50:6.2f} ms   p99 {ours.p99:6.2f} ms")
    console.print(f"raw reads p50 {floor.p50:6.2f} ms   p99 {floor.p99:6.2f} ms   ratio {ratio:.2f}")
    return ours.p99 < MAX_P99_MS


async def _rounds(tracing: Tracing, raw: Client, chains: list[list[LogEntry]]) -> tuple[Timing, Timing]:
    choice = random.Random(1)  # noqa: S311  which chain is traced is no secret
    ours, floor = [], []
    for _ in range(_ROUNDS):
        chain = choice.choice(chains)
        started = time.perf_counter()
        reply = await tracing.trace(Caller("alice"), Trace(id=chain[-1].memory.id, max_depth=DEPTH, top_k=100))
        ours.append(time.perf_counter() - started)
        assert len(reply.items) == len(chain) - 1, f"{len(reply.items)} of {len(chain) - 1}"
        started = time.perf_counter()
        for left, right in zip(chain[0:-1:2], chain[1:-1:2], strict=True):
            await _read(raw, [left.memory.id, right.memory.id])
        floor.append(time.perf_counter() - started)
    return Timing.of(ours), Timing.of(floor)


async def _read(raw: Client, ids: list[str]) -> None:
    """The newest entries of ``ids``: one request, an answer for each, and an end."""
    inbox = raw.new_inbox()
    answers = await raw.subscribe(inbox)
    query = json.dumps({"multi_last": [names.log(_POOL, id) for id in ids]}).encode()
    await raw.publish(names.direct_get(names.LOG), query, reply=inbox)
    for _ in range(len(ids) + 1):
        await answers.next_msg(timeout=5)
    await answers.unsubscribe()


def _chain() -> list[LogEntry]:
    """Events from the root to the end; each is caused by both of the step before it."""
    events: list[LogEntry] = []
    session = new_id()
    for step in range(DEPTH):
        causes = tuple(Link(rel="caused_by", target=e.memory.id, weight=0.9) for e in events[-2:] if step)
        for side in ("one", "other"):
            at = NOON + timedelta(seconds=step)
            event = entry(
                f"step {step}, {side}", pool=_POOL, session_id=session, turn=step, occurred_at=at, links=causes
            )
            events.append(event)
    last = tuple(Link(rel="caused_by", target=e.memory.id, weight=0.9) for e in events[-2:])
    end = NOON + timedelta(seconds=DEPTH)
    return [*events, entry("the end", pool=_POOL, session_id=session, turn=DEPTH, occurred_at=end, links=last)]


async def _fill(log: Log, entries: list[LogEntry]) -> None:
    for start in range(0, len(entries), _BATCH):
        for result in await log.append_many([(each, 0) for each in entries[start : start + _BATCH]]):
            if isinstance(result, Exception):
                raise result


def main() -> int:
    """Measure; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.tracing", description=__doc__)
    parser.add_argument("--events", type=int, default=50_000)
    events = parser.parse_args().events
    with tempfile.TemporaryDirectory(prefix="afterwit-bench-") as directory:
        return 0 if asyncio.run(measure(Console(width=120), events, Path(directory))) else 1


if __name__ == "__main__":
    sys.exit(main())
