"""A real Valkey, also at the far end of a cable, and with as much time to start as a busy machine takes."""

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

_READY_WITHIN_S: Final = 60.0


class Valkey:
    """A context manager: it runs within. ``url`` is how settings take it."""

    def __init__(self, directory: Path, cable: Cable | None = None) -> None:
        self._directory = directory
        self._host = cable.address if cable else "127.0.0.1"
        self._command = cable.command if cable else ()
        self._port = free_port()
        self._password = new_password()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"redis://:{self._password}@{self._host}:{self._port}/0"

    def __enter__(self) -> Valkey:
        self._directory.mkdir(parents=True, exist_ok=True)
        config = self._directory / "valkey.conf"
        config.write_text(
            valkey_config(host=self._host, port=self._port, password=self._password, directory=self._directory)
        )
        with (self._directory / "valkey.log").open("ab") as output:
            self._process = subprocess.Popen(
                [*self._command, valkey_binary(), config], stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        deadline = time.monotonic() + _READY_WITHIN_S
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise RuntimeError(f"valkey-server did not come up:\n{(self._directory / 'valkey.log').read_text()}")
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
            socket.create_connection((self._host, self._port), timeout=1).close()
        except OSError:
            return False
        return True
