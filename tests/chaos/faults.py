"""What is done to a running system: parts killed, paused and ended, and the embedder taken away, by a seeded plan."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.engines.system import System

from .ledger import Ledger

PARTS: Final = ("node", "gateway", "nats", "valkey")


@dataclass(frozen=True, slots=True)
class Fault:
    """``what`` happens to ``part``, for ``lasts_s`` where it is something that lasts; then ``pause_s`` of peace."""

    what: str
    part: str
    lasts_s: float
    pause_s: float

    def __str__(self) -> str:
        return f"{self.what} {self.part}" + (f" for {self.lasts_s:.1f} s" if self.lasts_s else "")


def plan(seed: int, parts: tuple[str, ...] = PARTS) -> FaultPlan:
    """The faults of a seed, without an end: the same each time."""
    return FaultPlan(random.Random(seed), parts)  # noqa: S311  # to be repeatable is what it is for


@dataclass
class FaultPlan:
    """An endless iterator."""

    chance: random.Random
    parts: tuple[str, ...]

    def __iter__(self) -> FaultPlan:
        return self

    def __next__(self) -> Fault:
        chance = self.chance
        what = chance.choices(("kill", "pause", "end", "embedder"), (6, 3, 1, 2))[0]
        pause_s = chance.choice((0.3, 2.0, 4.0, 4.0, 8.0))
        if what == "embedder":
            return Fault(chance.choice(("away", "slow")), "embedder", chance.uniform(1, 6), pause_s)
        weights = [{"node": 4, "gateway": 3, "nats": 2, "valkey": 2}.get(part, 2) for part in self.parts]
        part = chance.choices(self.parts, weights)[0]
        lasts_s = chance.choice((0.2, 1.0, 3.0, 7.0)) if what == "pause" else 0.0
        return Fault(what, part, lasts_s, pause_s)


@dataclass
class Saboteur:
    """Does it, and notes it: (seconds, what happened).

    ``more`` are parts that `afterwit up` did not start: a name for each, and what harms it and says how, or nothing.
    """

    system: System
    control: Path
    ledger: Ledger
    chance: random.Random
    more: dict[str, Callable[[], str]] = field(default_factory=dict)
    done: list[tuple[float, str]] = field(default_factory=list)
    stopped: list[int] = field(default_factory=list)
    _lasting: set[asyncio.Task[None]] = field(default_factory=set)

    async def run(self, faults: FaultPlan, seconds: float) -> None:
        """One fault after the other; at the end everything that was stopped goes on."""
        deadline = self.ledger.now() + seconds
        try:
            while (left := deadline - self.ledger.now()) > 0:
                fault = next(faults)
                self.begin(fault)
                await asyncio.sleep(min(fault.pause_s, left))
        finally:
            for task in self._lasting:
                task.cancel()
            if self._lasting:
                await asyncio.wait(self._lasting)
            self.control.unlink(missing_ok=True)
            for pid in self.stopped:
                self._signal(pid, signal.SIGCONT)

    def begin(self, fault: Fault) -> None:
        """Do it now; what lasts ends by itself later."""
        if fault.part == "embedder":
            self._note(str(fault))
            self._last(self._without_embedder(fault))
        elif fault.part in self.more:
            if did := self.more[fault.part]():
                self._note(did)
        elif pids := [pid for pid in self.system.pids(fault.part) if self._ours(pid)]:
            pid = self.chance.choice(pids)
            self._note(f"{fault} ({pid})")
            if fault.what == "pause":
                self._last(self._paused(pid, fault.lasts_s))
            else:
                self._signal(pid, signal.SIGKILL if fault.what == "kill" else signal.SIGTERM)

    async def _without_embedder(self, fault: Fault) -> None:
        self.control.write_text(fault.what)
        try:
            await asyncio.sleep(fault.lasts_s)
        finally:
            self.control.unlink(missing_ok=True)

    async def _paused(self, pid: int, lasts_s: float) -> None:
        self.stopped.append(pid)
        self._signal(pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(lasts_s)
        finally:
            self._signal(pid, signal.SIGCONT)

    def _last(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._lasting.add(task)
        task.add_done_callback(self._lasting.discard)

    def _note(self, what: str) -> None:
        self.done.append((self.ledger.now(), what))

    def _ours(self, pid: int) -> bool:
        """Whether the process is still the one that `afterwit up` started: a number may be given out again."""
        try:
            status = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return False
        return int(status.rpartition(")")[2].split()[1]) == self.system.ready.pid

    def _signal(self, pid: int, number: signal.Signals) -> None:
        if self._ours(pid):
            with suppress(ProcessLookupError):  # it ended by itself just now
                os.kill(pid, number)
