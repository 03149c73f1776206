"""`afterwit up` as it is, but for the node's embedder: `python -m tests.benchmarks.up`, with the same options."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

from afterwit.deploy.data_dir import DataDir
from afterwit.deploy.parts import Programs
from afterwit.deploy.ready import Ready
from afterwit.deploy.supervisor import Event
from afterwit.deploy.up import UpOptions, up
from tests.engines.waiting import wait_until

AS_IT_IS: Final = (sys.executable, "-P", "-m", "afterwit.deploy.cli", "up")
WITH_A_STUB: Final = (sys.executable, "-m", "tests.benchmarks.up")
_STUB_NODE: Final = (sys.executable, "-m", "tests.benchmarks.stub")


class _Silent:
    def event(self, event: Event) -> None:
        print(event.what, event.part.name, event.detail)

    def ready(self, ready: Ready) -> None:
        pass

    def stopping(self) -> None:
        pass


@asynccontextmanager
async def started(
    command: Sequence[str], directory: Path, *agents: str, variables: Mapping[str, str] | None = None
) -> AsyncIterator[Ready]:
    """``command`` with its data under ``directory``, on free ports, ready; stopped by SIGTERM at the end.

    ``variables`` are settings, ``AFTERWIT_…``; the developer's own are left out.
    """
    ready_file = directory / "ready.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AFTERWIT_")}
    environment |= variables or {}
    with (directory / "up.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(*command, "--data-dir", str(directory / "data"), "--port", "0", "--nats-port", "0"),
            *("--ready-file", str(ready_file), *(word for agent in agents for word in ("--agent", agent))),
            stdout=log,
            stderr=log,
            env=environment,
        )

    def ready() -> bool:
        if process.returncode is not None:
            raise RuntimeError(f"it ended:\n{(directory / 'up.log').read_text()}")
        return ready_file.exists()

    try:
        await wait_until(ready, description="the system is ready", timeout_s=120)
        yield msgspec.json.decode(ready_file.read_bytes(), type=Ready)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--ready-file", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--nats-port", type=int, default=0)
    parser.add_argument("--agent", dest="agents", action="append", default=[])
    given = vars(parser.parse_args())
    data_dir, agents = DataDir.find(given.pop("data_dir"), os.environ), tuple(given.pop("agents"))
    options = UpOptions(data_dir=data_dir, agents=agents, **given)
    asyncio.run(up(options, _Silent(), environ=os.environ, programs=Programs(node=_STUB_NODE)))


if __name__ == "__main__":
    _main()
