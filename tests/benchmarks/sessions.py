"""`python -m tests.benchmarks.sessions [--sessions N] [--seconds S]`: sessions end at once while agents go on working.

With the real model, which embeds what agents store and the episodes that are told of the sessions. Two agents store and
retrieve, one request after the other: first alone, then while N sessions (default 20) of ten events are ended at once,
until all have been told and looked back on, then alone again. The goal: the p99 of ``store`` and of ``retrieve`` is at
most 1.5 times what it is without.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Final

import nats

from afterwit.bus import names
from afterwit.bus.rpc import Requester
from afterwit.deploy.ready import Ready
from afterwit.schemas import EndSession, Reflect, Retrieve, Store
from afterwit.schemas.reflection import FINISHED
from afterwit.schemas.words import Kind
from tests.engines.waiting import wait_until

from . import up
from .corpus import Corpus
from .measuring import Timing

MOST_TIMES_SLOWER: Final = 1.5
_WORKERS: Final = ("will", "wanda")
_ENDING: Final = "sam"
_EVENTS: Final = 10
_WITHIN_S: Final = 600.0
_SEEDS: Final = itertools.count(20)


async def measured(directory: Path, sessions: int, seconds: float) -> bool:
    """Whether the goal was met."""
    async with up.started(up.AS_IT_IS, directory, *_WORKERS, _ENDING) as system:
        await _filled(system, sessions)
        await _working(system, _for(seconds / 4))
        before = await _working(system, _for(seconds))
        begun = time.perf_counter()
        during = await _working(system, lambda: _ended(system, sessions))
        took = time.perf_counter() - begun
        after = await _working(system, _for(seconds))
    print(f"{sessions} sessions were told and looked back on within {took:.1f} s")
    met = True
    for op in ("store", "retrieve"):
        alone, beside = Timing.of([*before[op], *after[op]]), Timing.of(during[op])
        times = beside.p99 / alone.p99
        met &= times <= MOST_TIMES_SLOWER
        print(
            f"{op}: alone p50 {alone.p50:.1f} ms, p99 {alone.p99:.1f} ms ({alone.count}); "
            f"beside p50 {beside.p50:.1f} ms, p99 {beside.p99:.1f} ms ({beside.count}): "
            f"{times:.2f} times (goal: at most {MOST_TIMES_SLOWER:g})"
        )
    return met


async def _working(system: Ready, meanwhile: Callable[[], Coroutine[None, None, None]]) -> dict[str, list[float]]:
    """Seconds by operation of all that the working agents ask for until ``meanwhile`` is over."""
    taken: dict[str, list[float]] = {"store": [], "retrieve": []}
    over = asyncio.create_task(meanwhile())

    async def work(agent: str, seed: int) -> None:
        corpus = Corpus(seed)
        async with _Asking(system, agent) as requester:
            while not over.done():
                for op, request in (
                    ("store", corpus.memory(f"agent/{agent}")),
                    ("retrieve", Retrieve(query=corpus.query())),
                ):
                    begun = time.perf_counter()
                    await requester.call(agent, op, request)
                    taken[op].append(time.perf_counter() - begun)

    await asyncio.gather(*(work(agent, next(_SEEDS)) for agent in _WORKERS))
    await over
    return taken


def _for(seconds: float) -> Callable[[], Coroutine[None, None, None]]:
    return lambda: asyncio.sleep(seconds)


async def _filled(system: Ready, sessions: int) -> None:
    """The sessions that are to end."""
    corpus = Corpus(seed=3)
    async with _Asking(system, _ENDING) as requester:
        for session in range(sessions):
            for turn in range(_EVENTS):
                kind: Kind = "user_input" if turn == 0 else "final_answer" if turn == _EVENTS - 1 else "tool_result"
                text = corpus.memory("agent/sam").content
                event = Store(content=text, kind=kind, session_id=f"s{session}", turn=turn)
                await requester.call(_ENDING, "store", event)


async def _ended(system: Ready, sessions: int) -> None:
    """End all at once, and wait until what follows from it is done."""
    async with _Asking(system, _ENDING) as requester:
        ended = [
            requester.call(_ENDING, "end_session", EndSession(session_id=f"s{session}")) for session in range(sessions)
        ]
        for reply in await asyncio.gather(*ended):
            await _looked_back(requester, reply.job_id)


async def _looked_back(requester: Requester, job_id: str) -> None:
    async def done() -> bool:
        return (await requester.call(_ENDING, "reflect", Reflect(job_id=job_id))).state in FINISHED

    await wait_until(done, description="a session was looked back on", timeout_s=_WITHIN_S)


class _Asking:
    """An agent's connection."""

    def __init__(self, system: Ready, agent: str) -> None:
        self._system = system
        self._agent = agent

    async def __aenter__(self) -> Requester:
        inbox = names.inbox(self._agent).encode()
        self._nc = await nats.connect(self._system.nats, token=self._system.agents[self._agent], inbox_prefix=inbox)
        return Requester(self._nc, timeout_s=_WITHIN_S)

    async def __aexit__(self, *_: object) -> None:
        await self._nc.close()


def main() -> int:
    """The exit status: 1 if the goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sessions")
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each part without (default 20)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="afterwit-sessions-") as name:
        return 0 if asyncio.run(measured(Path(name), given.sessions, given.seconds)) else 1


if __name__ == "__main__":
    sys.exit(main())
