"""Starts processes, keeps them running, and stops them in order.

    async with Supervisor(logs, on_event) as supervisor:
        await supervisor.start(nats)
        await supervisor.start(gateway_1, gateway_2)    # together
        await stop_requested.wait()
    # gateways first, then nats: SIGTERM, a bounded wait, SIGKILL

A child that dies is started again after a back-off, and its `ready` probe must hold before it counts as up.
If this process dies, by whatever signal, the children die with it (`tether`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from ..schemas import Unavailable
from .logs import rotate, tail

_FIRST_BACK_OFF_S: Final = 0.1
_LONGEST_BACK_OFF_S: Final = 10.0
_STEADY_S: Final = 30.0
"""Who ran this long is forgiven earlier deaths: the back-off begins anew."""
_PROBE_TIMEOUT_S: Final = 5.0
_TETHER: Final = str(Path(__file__).with_name("tether.py"))

Probe = Callable[[int], Awaitable[bool]]
"""Given the pid, whether the process is up. May raise `Unavailable` or `OSError` for "not yet"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A process to keep running. ``kind`` is what it is (node), ``name`` tells it from its like (node-2)."""

    kind: str
    name: str
    command: tuple[str, ...]
    ready: Probe
    env: Mapping[str, str] = field(default_factory=dict)
    ready_timeout_s: float = 60.0
    stop_timeout_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to a part. ``pid`` is the process that it happened to.

    ``failed``: a restart that did not work; ``untold``: it is back, and the ready file does not say so.
    """

    what: Literal["ready", "died", "restarting", "failed", "untold", "stopped"]
    part: Part
    pid: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """A part's process now."""

    kind: str
    name: str
    pid: int


class Supervisor:
    """Owner of all child processes.

    ``on_event`` is called in the event loop and must not block.
    """

    def __init__(self, logs: Path, on_event: Callable[[Event], None] = lambda _: None) -> None:
        self._logs = logs
        self._on_event = on_event
        self._groups: list[list[_Child]] = []
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        self._logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.stop()
        finally:
            # Only a cancellation is the group's to know: it would wrap any other error of the body in a group.
            cancelled = error if isinstance(error, asyncio.CancelledError) else None
            await self._tasks.__aexit__(type(cancelled) if cancelled else None, cancelled, trace if cancelled else None)

    @property
    def running(self) -> list[Running]:
        """Every process that is up, in the order of starting."""
        children = [child for group in self._groups for child in group]
        return [Running(c.part.kind, c.part.name, c.pid) for c in children if c.pid is not None]

    async def start(self, *parts: Part) -> None:
        """Start ``parts`` together and return once all are ready; from then on they are kept running.

        Raises:
            Unavailable: one ended or was not ready in time; the message holds the end of its log.
        """
        group = [_Child(part, self._logs / f"{part.name}.log", self._on_event) for part in parts]
        self._groups.append(group)
        for child in group:
            rotate(child.log)
            await child.spawn()
        for child in group:
            await child.until_ready()
        for child in group:
            self._tasks.create_task(child.keep_running(), name=f"keep {child.part.name} running")

    async def stop(self) -> None:
        """End all processes, the last group first. Safe to call twice."""
        while self._groups:
            group = self._groups[-1]
            async with asyncio.TaskGroup() as stopping:
                for child in group:
                    stopping.create_task(child.stop(), name=f"stop {child.part.name}")
            self._groups.pop()


class _Child:
    """One part and its present process."""

    def __init__(self, part: Part, log: Path, on_event: Callable[[Event], None]) -> None:
        self.part = part
        self.log = log
        self._on_event = on_event
        self._process: asyncio.subprocess.Process | None = None
        self._started_at = 0.0
        self._stopping = asyncio.Event()
        self._spawning = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The pid of the process, while it lives."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def spawn(self) -> None:
        """Start the process; its output is appended to the log."""
        tethered = (sys.executable, "-I", "-S", _TETHER, str(os.getpid()), *self.part.command)
        async with self._spawning:  # so that `stop` never misses a process that is just being started
            if self._stopping.is_set():
                return
            with self.log.open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    *tethered,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    env=dict(self.part.env),
                    start_new_session=True,  # Ctrl-C in the terminal is for us alone: we stop them in order
                )
            self._started_at = time.monotonic()

    async def until_ready(self) -> None:
        """Wait until the probe holds.

        Raises:
            Unavailable: the process ended, or took too long.
        """
        process = self._process
        if process is None:
            return
        deadline = self._started_at + self.part.ready_timeout_s
        pause = 0.01
        while not await self._probe(process.pid):
            if process.returncode is not None:
                raise self._failure(f"{self.part.name} {_how_it_ended(process.returncode)} while it was starting")
            if time.monotonic() > deadline:
                raise self._failure(f"{self.part.name} was not ready after {self.part.ready_timeout_s:g} s")
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 0.2)
        if process.returncode is not None:  # the probe was answered by somebody else
            raise self._failure(f"{self.part.name} {_how_it_ended(process.returncode)} while it was starting")
        self._on_event(Event("ready", self.part, process.pid))

    async def keep_running(self) -> None:
        """Start the process again whenever it ends, until `stop`."""
        back_off = _FIRST_BACK_OFF_S
        while self._process is not None:
            process = self._process
            ended = _how_it_ended(await process.wait())
            if self._stopping.is_set():
                return
            if time.monotonic() - self._started_at > _STEADY_S:
                back_off = _FIRST_BACK_OFF_S
            self._on_event(Event("died", self.part, process.pid, ended))
            if await self._stops_within(back_off):
                return
            back_off = min(back_off * 2, _LONGEST_BACK_OFF_S)
            self._on_event(Event("restarting", self.part, process.pid))
            try:
                await self.spawn()
                await self.until_ready()
            except (Unavailable, OSError) as e:
                if self._stopping.is_set():
                    return
                self._on_event(Event("failed", self.part, self.pid or 0, str(e)))
                self._signal(signal.SIGKILL)

    async def stop(self) -> None:
        """SIGTERM, then, after the part's time, SIGKILL for its whole process group."""
        self._stopping.set()
        async with self._spawning:
            process = self._process
        if process is None:
            return
        if process.returncode is None:
            self._signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(self.part.stop_timeout_s):
                    await process.wait()
            except TimeoutError:
                self._signal(signal.SIGKILL)
                await process.wait()
        self._on_event(Event("stopped", self.part, process.pid, _how_it_ended(process.returncode or 0)))

    async def _probe(self, pid: int) -> bool:
        try:
            async with asyncio.timeout(_PROBE_TIMEOUT_S):
                return await self.part.ready(pid)
        except (Unavailable, OSError):  # TimeoutError is an OSError
            return False

    async def _stops_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._stopping.wait()
        except TimeoutError:
            return False

    def _signal(self, number: signal.Signals) -> None:
        if self.pid is None:
            return
        try:
            if number == signal.SIGKILL:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)
        except ProcessLookupError:
            pass  # it ended by itself just now

    def _failure(self, what: str) -> Unavailable:
        return Unavailable(f"{what}; the end of {self.log}:\n{tail(self.log)}", part=self.part.name)


def _how_it_ended(returncode: int) -> str:
    if returncode >= 0:
        return f"ended with status {returncode}"
    return f"was killed by {signal.Signals(-returncode).name}"
