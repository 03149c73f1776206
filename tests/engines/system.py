"""The whole product, started as a user starts it: `afterwit up`, and the ready file says where everything is."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from afterwit.deploy.ready import Ready

READY_WITHIN_S: Final = 120.0
STOPPED_WITHIN_S: Final = 60.0
_POLL_S: Final = 0.05
UP: Final = ("-m", "afterwit.deploy.cli", "up")


@dataclass(frozen=True, slots=True)
class System:
    """A running `afterwit up`."""

    ready_file: Path
    output: Path

    @property
    def ready(self) -> Ready:
        """The ready file as it stands now: it is written anew when a part was restarted."""
        return msgspec.json.decode(self.ready_file.read_bytes(), type=Ready)

    @property
    def data_dir(self) -> Path:
        """Where it keeps everything."""
        return Path(self.ready.data_dir)

    def pids(self, part: str) -> list[int]:
        """The processes that are ``part`` now."""
        return [p.pid for p in self.ready.processes if p.part == part]

    def token(self, agent: str) -> str:
        """The token of an agent that was named at the start."""
        return self.ready.agents[agent]


@contextmanager
def launched(
    directory: Path,
    *agents: str,
    options: Sequence[str] = (),
    program: Sequence[str] = UP,
    variables: Mapping[str, str] | None = None,
) -> Iterator[System]:
    """`afterwit up` on free ports with its data under ``directory``, ready; stopped by SIGTERM at the end.

    ``program``: another one that takes the same options; ``variables`` of its environment beside ours.
    """
    system = System(directory / "ready.json", directory / "up.log")
    command = [
        *(sys.executable, "-P", *program, "--data-dir", str(directory / "data")),
        *("--port", "0", "--nats-port", "0", "--ready-file", str(system.ready_file)),
        *(word for agent in agents for word in ("--agent", agent)),
        *options,
    ]
    with system.output.open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=clean_environment(**(variables or {})),
            cwd=directory,
        )
    try:
        _wait_ready(process, system)
        yield system
    finally:
        process.send_signal(signal.SIGTERM)  # does nothing to one that has ended
        try:
            process.wait(STOPPED_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(
                f"afterwit up did not stop within {STOPPED_WITHIN_S} s:\n{system.output.read_text()}"
            ) from None


@asynccontextmanager
async def afterwit_up(
    directory: Path,
    *agents: str,
    options: Sequence[str] = (),
    program: Sequence[str] = UP,
    variables: Mapping[str, str] | None = None,
) -> AsyncIterator[System]:
    """`launched`, beside a running event loop."""
    starting = launched(directory, *agents, options=options, program=program, variables=variables)
    with ExitStack() as stack:
        try:
            yield await asyncio.to_thread(stack.enter_context, starting)
        finally:
            await asyncio.to_thread(stack.close)


def clean_environment(**more: str) -> dict[str, str]:
    """Ours, without settings of a developer's own Afterwit."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("AFTERWIT_", "OTEL_"))} | more


def _wait_ready(process: subprocess.Popen[bytes], system: System) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while not system.ready_file.exists():
        if process.poll() is not None:
            raise AssertionError(f"afterwit up ended with {process.returncode}:\n{system.output.read_text()}")
        if time.monotonic() > deadline:
            raise AssertionError(f"afterwit up was not ready in {READY_WITHIN_S} s:\n{system.output.read_text()}")
        time.sleep(_POLL_S)
