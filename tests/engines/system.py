"""The whole product, started as a user starts it: `afterwit up`, and the ready file says where everything is."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from afterwit.deploy.ready import Ready

UP: Final = (sys.executable, "-P", "-m", "afterwit.deploy.cli", "up")
READY_WITHIN_S: Final = 120.0
STOPPED_WITHIN_S: Final = 30.0
_POLL_S: Final = 0.05


@dataclass(slots=True)
class System:
    """A running `afterwit up`."""

    process: asyncio.subprocess.Process
    ready_file: Path
    output: Path

    @property
    def ready(self) -> Ready:
        """The ready file as it stands now: it is written anew when a part was restarted."""
        return msgspec.json.decode(self.ready_file.read_bytes(), type=Ready)

    def pids(self, part: str) -> list[int]:
        """The processes that are ``part`` now."""
        return [p.pid for p in self.ready.processes if p.part == part]

    def token(self, agent: str) -> str:
        """The token of an agent that was named at the start."""
        return self.ready.agents[agent]


@asynccontextmanager
async def afterwit_up(
    directory: Path, *agents: str, options: Sequence[str] = (), program: Sequence[str] = UP
) -> AsyncIterator[System]:
    """`afterwit up` on free ports with its data under ``directory``, ready; stopped by SIGTERM at the end.

    ``program`` is what is run instead of the command; it takes the same options.
    """
    ready_file, output = directory / "ready.json", directory / "up.log"
    command = [
        *(*program, "--data-dir", str(directory / "data")),
        *("--port", "0", "--nats-port", "0", "--ready-file", str(ready_file)),
        *(word for agent in agents for word in ("--agent", agent)),
        *options,
    ]
    with output.open("wb") as log:
        process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log, env=_clean_environment())
    try:
        await _wait_ready(process, ready_file, output)
        yield System(process, ready_file, output)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOPPED_WITHIN_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise AssertionError(
                f"afterwit up did not stop within {STOPPED_WITHIN_S} s:\n{output.read_text()}"
            ) from None


async def _wait_ready(process: asyncio.subprocess.Process, ready_file: Path, output: Path) -> None:
    async with asyncio.timeout(READY_WITHIN_S):
        while not ready_file.exists():
            if process.returncode is not None:
                raise AssertionError(f"afterwit up ended with {process.returncode}:\n{output.read_text()}")
            await asyncio.sleep(_POLL_S)


def _clean_environment() -> dict[str, str]:
    """Ours, without settings of a developer's own Afterwit."""
    return {name: value for name, value in os.environ.items() if not name.startswith("AFTERWIT_")}
