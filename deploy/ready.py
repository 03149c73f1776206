"""The ready file: what `afterwit up` tells programs once everything answers (contract, "Starting it")."""

from __future__ import annotations

import msgspec


class RunningPart(msgspec.Struct, frozen=True, kw_only=True):
    """One process. ``part`` is nats, valkey, node or gateway."""

    part: str
    pid: int


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """Where to connect, as whom, and what runs. ``agents`` maps the names given by ``--agent`` to their tokens."""

    mcp: str
    nats: str
    health: str
    gateways: tuple[str, ...]
    agents: dict[str, str]
    data_dir: str
    pid: int
    processes: tuple[RunningPart, ...]
