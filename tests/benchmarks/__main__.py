"""`python -m tests.benchmarks [--quick] [--memories N] [--rounds N] [--no-rest] [--json FILE]`

The exit status is 1 if a goal was missed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import Progress

from afterwit.bus.mcp.plain import plain
from afterwit.memory_node.inference import EmbeddingClient
from afterwit.schemas import Retrieve

from .bus_floor import Sizes, bus_floor
from .corpus import AGENT, SHARED, readable_pools
from .embedding import StubCall, embedding_times
from .engine_floor import EngineFloor
from .goals import ENGINE_QUERY, ENGINE_UPSERT, GOALS, MAX_CPU_AT_REST, MAX_MB_AT_REST
from .measuring import Timing, interleaved, timings
from .product import Product, product
from .report import as_json, show
from .rest import AtRest, at_rest
from .stub import StubEmbedder

_WIDTH = 120
_ENTRY_BYTES = 1600
"""Of a log entry: 768 of its embedding, the rest its memory."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    memories: int
    rounds: int
    rest_s: float


async def calls(console: Console, plan: Plan, directory: Path) -> dict[str, Timing]:
    """All calls and their floors, in turns."""
    console.print(f"storing {plan.memories} memories …")
    async with product(directory / "product", plan.memories) as running:
        floor = EngineFloor(directory / "engine")
        try:
            floor.add(running.memories)
            return await _in_turns(console, plan, directory, running, floor)
        finally:
            floor.close()


async def _in_turns(
    console: Console, plan: Plan, directory: Path, running: Product, floor: EngineFloor
) -> dict[str, Timing]:
    async def engine_query() -> Mapping[str, float]:
        return {ENGINE_QUERY: floor.query(running.corpus.query(), readable_pools())}

    async def engine_upsert() -> Mapping[str, float]:
        return {ENGINE_UPSERT: floor.upsert(running.memories[0])}

    request = Retrieve(query=running.corpus.query())
    answer = plain(await running.requester.call(AGENT, "retrieve", request))
    store = running.corpus.memory(SHARED)
    sizes = Sizes(len(msgspec.json.encode(request)), len(msgspec.json.encode(store)), _ENTRY_BYTES)
    async with bus_floor(directory, answer, sizes) as bus, EmbeddingClient(StubEmbedder()) as stub:
        measurements = [
            *(running.retrieve, bus.round_trip, engine_query),
            *(running.store, bus.visible, engine_upsert, StubCall(running.corpus, stub).time),
            *(running.accepted, bus.publish, running.notice),
            *(running.retrieve_over_mcp, bus.nothing, running.store_over_mcp, bus.same_answer),
        ]
        with Progress(console=console, transient=True) as progress:
            warm_up = max(plan.rounds // 10, 5)
            task = progress.add_task("measuring", total=plan.rounds + warm_up)
            return await interleaved(
                measurements, rounds=plan.rounds, warm_up=warm_up, tick=lambda: progress.advance(task)
            )


async def run(console: Console, plan: Plan) -> tuple[dict[str, Timing], list[AtRest]]:
    """Everything."""
    with tempfile.TemporaryDirectory(prefix="afterwit-bench-") as name:
        directory = Path(name)
        taken = await calls(console, plan, directory)
        taken |= timings(await embedding_times(plan.rounds // 4))
        rest = []
        if plan.rest_s:
            console.print(f"watching it at rest for {plan.rest_s:g} s …")
            rest = await at_rest(directory / "rest", plan.rest_s)
        return taken, rest


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("--quick", action="store_true", help="1,000 memories, 40 rounds, 5 s at rest")
    parser.add_argument("--memories", type=int, help="how many are there (default 10,000)")
    parser.add_argument("--rounds", type=int, help="how often each is measured (default 300)")
    parser.add_argument("--no-rest", action="store_true", help="leave out what it takes at rest")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured there as well")
    given = parser.parse_args()
    usual = Plan(1_000, 40, 5) if given.quick else Plan(10_000, 300, 30)
    rest_s = usual.rest_s if sys.platform == "linux" and not given.no_rest else 0
    plan = Plan(given.memories or usual.memories, given.rounds or usual.rounds, rest_s)

    console = Console()
    if console.width < _WIDTH:
        console = Console(width=_WIDTH)
    load = os.getloadavg()[0]
    taken, rest = asyncio.run(run(console, plan))
    show(console, taken, rest)
    about: dict[str, Any] = {
        "memories": plan.memories,
        "rounds": plan.rounds,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_before": load,
    }
    console.print(
        f"[dim]{plan.memories} memories, {plan.rounds} rounds, {about['cores']} cores, load {load:.1f} before.[/dim]"
    )
    if given.json:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(as_json(taken, rest, about))))
    missed = any(goal.met(taken) is False for goal in GOALS)
    idle = not rest or (sum(r.cpu for r in rest) <= MAX_CPU_AT_REST and sum(r.pss_mb for r in rest) <= MAX_MB_AT_REST)
    return 1 if missed or not idle else 0


if __name__ == "__main__":
    sys.exit(main())
