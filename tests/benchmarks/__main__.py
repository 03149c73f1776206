"""`python -m tests.benchmarks`"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from afterwit.schemas import Retrieve, codec

from .corpus import AGENT
from .floors import EngineFloor, bus_floor
from .measuring import interleaved
from .product import calibration_of, product


async def run(count: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="afterwit-bench-") as d:
        directory = Path(d)
        begun = time.perf_counter()
        async with product(directory / "product", count) as p:
            print("filled", time.perf_counter() - begun, len(p.memories))
            floor = EngineFloor(directory / "engine", calibration_of(directory / "product"))
            for i in range(0, len(p.memories), 64):
                floor.add(p.memories[i : i + 64])
            reply = await p.requester.call(AGENT, "retrieve", Retrieve(query=p.corpus.query()))
            answer = codec.to_plain(reply)
            pools = [f"agent/{AGENT}", *(f"shared/{n}" for n in ("ops", "product", "travel", "research"))]
            async def eq(): return {"engine query": floor.query(p.corpus.query(), pools)}
            async def eu(): return {"engine upsert": floor.upsert(p.memories[0])}
            sizes = {"request": 100, "store": 400, "entry": 1600}
            async with bus_floor(directory, answer, sizes) as bus:
                ms = [p.retrieve, bus.round_trip, eq, p.store, bus.visible, eu, p.accepted, bus.publish,
                      p.retrieve_over_mcp, bus.nothing, bus.same_answer, p.store_over_mcp]
                t = await interleaved(ms, rounds=rounds, warm_up=rounds // 10)
            floor.close()
            for k, v in t.items():
                print(f"{k:28} {v.p50:8.3f} {v.p99:8.3f} {v.count}")
            T = lambda n: t[n].p50
            print("retrieve NATS ratio (6)", T("retrieve, NATS") / (T("nats round trip") + T("engine query")))
            print("store visible (4)", (T("store visible, NATS") - T("engine upsert")) / T("publish, consume, notice"))
            print("retrieve MCP (1.5)", (T("retrieve, MCP") - T("retrieve, NATS")) / T("mcp no-op"))
            print("store MCP (1.5)", (T("store visible, MCP") - T("store visible, NATS")) / T("mcp no-op"))
            print("notice (3)", T("notice, MCP") / T("notice, NATS"))
            print("accepted", T("store accepted, NATS") / T("jetstream publish"))


parser = argparse.ArgumentParser()
parser.add_argument("--count", type=int, default=10_000)
parser.add_argument("--rounds", type=int, default=200)
a = parser.parse_args()
asyncio.run(run(a.count, a.rounds))
