"""`afterwit up` with the nodes of `tests.chaos.node`: `python -m tests.chaos.up`, with the options of the original.

Gateways hang on cables where these are offered (`tests.chaos.gateway`).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Final

from afterwit.deploy.data_dir import DataDir
from afterwit.deploy.parts import Programs
from afterwit.deploy.ready import Ready
from afterwit.deploy.supervisor import Event
from afterwit.deploy.up import UpOptions, up

from .gateway import SPACES

_NODE: Final = (sys.executable, "-m", "tests.chaos.node")
_GATEWAY: Final = (sys.executable, "-m", "tests.chaos.gateway")


class _Plain:
    """Reports as lines."""

    def event(self, event: Event) -> None:
        """See `Report.event`."""
        print(event.what, event.part.name, event.pid, event.detail, flush=True)

    def ready(self, ready: Ready) -> None:
        """See `Report.ready`."""
        print("ready", *(f"{p.part}={p.pid}" for p in ready.processes), flush=True)

    def stopping(self) -> None:
        """See `Report.stopping`."""
        print("stopping", flush=True)


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--ready-file", type=Path)
    for number, usual in (("--port", 0), ("--nats-port", 0), ("--nodes", 1), ("--gateways", 1)):
        parser.add_argument(number, type=int, default=usual)
    for url in ("--nats-url", "--qdrant-url", "--redis-url"):
        parser.add_argument(url)
    parser.add_argument("--agent", dest="agents", action="append", default=[])
    given = vars(parser.parse_args())
    data_dir, agents = DataDir.find(given.pop("data_dir"), os.environ), tuple(given.pop("agents"))
    options = UpOptions(data_dir=data_dir, agents=agents, **given)
    options.check(os.environ)
    programs = Programs(node=_NODE, gateway=_GATEWAY) if SPACES in os.environ else Programs(node=_NODE)
    asyncio.run(up(options, _Plain(), environ=os.environ, programs=programs))


if __name__ == "__main__":
    _main()
