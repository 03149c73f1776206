"""A real nats-server from its wheel, with JetStream, on a port of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

from .cables import Cable
from .ports import free_port

EXECUTABLE = Path(sys.prefix) / "bin" / "nats-server"

_READY_TIMEOUT_S = 60.0


class NatsServer:
    """A server that can be stopped, killed and started again on the same port and data.

    Use as a context manager. ``extra`` is appended to the configuration, for accounts and the like. With a ``cable`` it
    runs at the far end of that.

    Raises:
        RuntimeError: it did not come up; the text holds the end of its log.
    """

    def __init__(self, directory: Path, *, extra: str = "", cable: Cable | None = None) -> None:
        self.directory = directory
        self.host = cable.address if cable else "127.0.0.1"
        self.port = free_port()
        self._extra = extra
        self._command: tuple[str | Path, ...] = (*(cable.command if cable else ()), EXECUTABLE)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id while it runs."""
        assert self._process is not None, "the server is not running"
        return self._process.pid

    @property
    def log(self) -> str:
        """All that it has logged."""
        path = self.directory / "nats.log"
        return path.read_text() if path.exists() else ""

    def config(self) -> str:
        """What it is started with."""
        return (
            f'listen: "{self.host}:{self.port}"\n'
            f'log_file: "{self.directory / "nats.log"}"\n'
            f'jetstream {{ store_dir: "{self.directory / "jetstream"}" }}\n'
            f"{self._extra}\n"
        )

    def start(self) -> None:
        """Start it and wait until it answers."""
        assert self._process is None, "the server runs already"
        self.directory.mkdir(parents=True, exist_ok=True)
        config = self.directory / "nats.conf"
        config.write_text(self.config())
        self._process = subprocess.Popen(
            [*self._command, "-c", config],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + _READY_TIMEOUT_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"nats-server did not come up:\n{self.log[-2000:]}")
            time.sleep(0.005)

    def stop(self) -> None:
        """Stop it in order (SIGTERM)."""
        if self._process is not None:
            self._process.terminate()
            self._reap()

    def kill(self) -> None:
        """Kill it as a crash would (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._reap()

    def restart(self) -> None:
        """Start it again on the same port and data."""
        self.stop()
        self.start()

    def reload(self, extra: str) -> None:
        """Have it go by another configuration from now on: ``extra`` in place of what it was made with."""
        assert self._process is not None, "the server is not running"
        self._extra = extra
        (self.directory / "nats.conf").write_text(self.config())
        self._process.send_signal(signal.SIGHUP)

    def _reap(self) -> None:
        assert self._process is not None
        self._process.wait(timeout=_READY_TIMEOUT_S)
        self._process = None

    def _answers(self) -> bool:
        try:
            with socket.create_connection((self.host, self.port), timeout=1.0) as probe:
                return probe.recv(4) == b"INFO" and "Server is ready" in self.log
        except OSError:
            return False

    def __enter__(self) -> NatsServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
