"""The façade of `qdrant_facade` as a process that tests start, kill and start again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final

from .cables import Cable
from .ports import free_port

_READY_WITHIN_S: Final = 60.0


class QdrantFacade:
    """A context manager; it keeps its port and its data over `kill` and `start`. ``cable``: it runs at its far end."""

    def __init__(self, directory: Path, cable: Cable | None = None) -> None:
        self.directory = directory
        self._host = cable.address if cable else "127.0.0.1"
        self._command = cable.command if cable else ()
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{self._host}:{self._port}"

    @property
    def pid(self) -> int:
        """The process id while it runs."""
        assert self._process is not None, "the façade is not running"
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it listens."""
        assert self._process is None, "the façade runs already"
        self.directory.mkdir(parents=True, exist_ok=True)
        ready, log = self.directory / "ready.json", self.directory / "facade.log"
        ready.unlink(missing_ok=True)
        command = [*self._command, sys.executable, "-m", "tests.engines.qdrant_facade"]
        command += ["--host", self._host, "--port", str(self._port)]
        command += ["--ready-file", str(ready), "--data-dir", str(self.directory / "data")]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=Path(__file__).parents[2]
            )
        deadline = time.monotonic() + _READY_WITHIN_S
        while not ready.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the façade did not come up:\n{log.read_text()[-2000:]}")
            time.sleep(0.01)
        assert json.loads(ready.read_text())["url"] == self.url

    def stop(self) -> None:
        """Stop it in order (SIGTERM)."""
        self._end(kill=False)

    def kill(self) -> None:
        """Kill it as a crash would (SIGKILL)."""
        self._end(kill=True)

    def _end(self, *, kill: bool) -> None:
        if self._process is not None:
            self._process.kill() if kill else self._process.terminate()
            self._process.wait(timeout=_READY_WITHIN_S)
            self._process = None

    def __enter__(self) -> QdrantFacade:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
