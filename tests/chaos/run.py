"""One run: a system, a load, faults, an ending, and the history of it all."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from afterwit.bus.identity.parts import NODE
from afterwit.deploy.admin import connected_as
from tests.engines.system import System, afterwit_up
from tests.engines.waiting import wait_until

from .checker import Violation, check
from .doors import Asking, OverMcp, over_nats
from .ending import found_by_retrieval, settled, versions_in_log
from .faults import PARTS, Saboteur, plan
from .history import History
from .ledger import Ledger
from .load import GROUP, Counter, Onlooker, Worker, Writer, working
from .node import CONTROL
from .subscribers import Follower, Live

POOL: Final = "shared/chaos"
AGENTS: Final = ("alice", "bob")
COUNTERS: Final = 3
_UP: Final = ("-m", "tests.chaos.up")
_Place: TypeAlias = tuple[str, Asking, str, Ledger, asyncio.Event, random.Random]
_ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Trial:
    """What is run. ``more`` are parts that `afterwit up` does not start, with what a fault does to each."""

    seed: int
    seconds: float
    parts: tuple[str, ...] = PARTS
    options: Sequence[str] = ()
    variables: dict[str, str] = field(default_factory=dict)
    more: dict[str, Callable[[], str]] = field(default_factory=dict)
    replicas: int = 1
    credentials: Path | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it. ``faults`` are (seconds since the beginning, what was done)."""

    history: History
    violations: list[Violation]
    faults: list[tuple[float, str]]
    began: float
    unanswered: int


async def run(directory: Path, trial: Trial) -> Outcome:
    """Do it, with everything under ``directory``."""
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(_ROOT))))
    variables = {"PYTHONPATH": path, **trial.variables}
    async with afterwit_up(directory, *AGENTS, options=trial.options, program=_UP, variables=variables) as system:
        return await _tried(system, trial)


async def _tried(system: System, trial: Trial) -> Outcome:
    ledger, chance = Ledger(), random.Random(trial.seed)  # noqa: S311  # as in `plan`
    saboteur = Saboteur(system, system.data_dir / CONTROL, ledger, chance, trial.more)
    began = ledger.now()
    async with AsyncExitStack() as stack:
        crew = await stack.enter_async_context(_crew(system, ledger, chance))
        async with asyncio.TaskGroup() as following, crew.live.listening():
            for follower in crew.followers:
                following.create_task(follower.run(), name=follower.name)
            async with working(*crew.workers):
                await saboteur.run(plan(trial.seed, (*trial.parts, *trial.more)), trial.seconds)
                await wait_until(lambda: _all_run(system, trial.parts), description="all parts run")
                so_far = len(ledger.known)
                await wait_until(lambda: len(ledger.known) > so_far + 20, description="writing goes on")
            credentials = trial.credentials or system.data_dir / "credentials" / f"{NODE}.json"
            async with connected_as(NODE, system.ready.nats, credentials) as nc:
                await settled(nc)
                for follower in crew.followers:
                    follower.stop.set()
                versions = await versions_in_log(nc, POOL, replicas=trial.replicas)
            found = await found_by_retrieval(crew.workers[0].door, POOL, _groups(crew.workers))
    history = ledger.history
    history.versions, history.found = versions, found
    history.complete = [follower.name for follower in crew.followers if follower.finished]
    return Outcome(history, check(history), [(t - began, what) for t, what in saboteur.done], began, ledger.unanswered)


@dataclass(frozen=True, slots=True)
class _Crew:
    workers: list[Writer | Counter | Onlooker]
    followers: list[Follower]
    live: Live


@asynccontextmanager
async def _crew(system: System, ledger: Ledger, chance: random.Random) -> AsyncIterator[_Crew]:
    """Everybody, connected; the pool and the counters are there."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(over_nats(system, AGENTS[0]))
        await first.ask("pool_create", pool=POOL)
        await first.ask("pool_grant", pool=POOL, agent=AGENTS[1], role="writer")
        # Connections made before a pool do not hear of it.
        alice = await stack.enter_async_context(over_nats(system, AGENTS[0]))
        bob = await stack.enter_async_context(over_nats(system, AGENTS[1]))
        gone = asyncio.Event()

        def made(name: str, door: Asking, stop: asyncio.Event = gone) -> _Place:
            return name, door, POOL, ledger, stop, random.Random(chance.random())  # noqa: S311  # as in `plan`

        def mcp(agent: str, mode: str) -> OverMcp:
            client = OverMcp(system, agent, POOL, mode)
            stack.push_async_callback(client.close)
            return client

        counters = await _counters(Writer(*made("counters", alice)))
        workers: list[Writer | Counter | Onlooker] = [
            Writer(*made("keyed", alice)),
            Writer(*made("unkeyed", bob), keyed=False),
            Writer(*made("ingesting", bob), what="ingest"),
            Writer(*made("keyed-mcp", mcp(AGENTS[0], "2026-07-28"))),
            Writer(*made("handshake-mcp", mcp(AGENTS[1], "legacy"))),
            Counter(*made("counting", alice), counters=counters),
            Counter(*made("counting-too", bob), counters=counters),
            Counter(*made("counting-mcp", mcp(AGENTS[1], "2026-07-28")), counters=counters),
            Onlooker(*made("onlooker", bob)),
            Onlooker(*made("onlooker-mcp", mcp(AGENTS[0], "2026-07-28"))),
        ]
        followers = [
            Follower(*made("follower", alice, asyncio.Event())),
            Follower(*made("follower-mcp", mcp(AGENTS[1], "2026-07-28"), asyncio.Event())),
        ]
        live = Live(*made("live", alice))
        alice.on_back.append(live.reconnected)
        yield _Crew(workers, followers, live)


async def _counters(writer: Writer) -> list[tuple[str, str]]:
    made = []
    for number in range(COUNTERS):
        mark = f"counter-{number}"
        request = {"pool": POOL, "tags": [mark, "counters"], **writer.memory(mark, 0)}
        outcome, memory = await writer.write("store", mark, request)
        assert outcome == "acknowledged"
        made.append((memory["id"], mark))
    return made


def _groups(workers: Sequence[Worker]) -> list[str]:
    groups = ["counters"]
    for worker in workers:
        if isinstance(worker, Writer):
            last = next(worker.numbers) - 1
            groups += (f"{worker.name}-group-{group}" for group in range(last // GROUP + 1))
    return groups


def _all_run(system: System, parts: Sequence[str]) -> bool:
    return {p.part for p in system.ready.processes} >= set(parts)
