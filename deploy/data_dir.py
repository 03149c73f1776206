"""The data directory: who holds it, and what is kept in it for its owner's eyes alone.

::

    lock                 held by the running `afterwit up`, with its pid
    ready.json           where that one is reached (the ready file)
    credentials/*.json   passwords of the parts
    tokens/<agent>       tokens of the agents named by `up --agent`
    nats/ valkey/ index/ the engines' own
    logs/<part>.log      what the parts say, and a few older ones
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from ..schemas import Invalid, NotFound, Unavailable
from ..schemas.codec import convert
from ..schemas.words import AgentName
from .ready import Ready

DEFAULT: Final = "~/.afterwit"
VARIABLE: Final = "AFTERWIT_DATA_DIR"


def write_private(path: Path, text: str) -> None:
    """Write ``text`` in one step: a reader sees the old file or the new one, and only the owner may read it."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as f:
            f.write(text)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@dataclass(frozen=True, slots=True)
class DataDir:
    """A directory that everything of one machine lies under."""

    path: Path

    @classmethod
    def find(cls, given: Path | None, environ: Mapping[str, str]) -> DataDir:
        """The one that was ``given``, else ``AFTERWIT_DATA_DIR``, else ``~/.afterwit``."""
        return cls(Path(given or environ.get(VARIABLE) or DEFAULT).expanduser().absolute())

    @property
    def logs(self) -> Path:
        """Where the parts' logs are."""
        return self.path / "logs"

    @property
    def credentials(self) -> Path:
        """Where the parts' passwords are."""
        return self.path / "credentials"

    @property
    def ready_file(self) -> Path:
        """There while an `afterwit up` holds this directory and all is ready."""
        return self.path / "ready.json"

    def prepare(self) -> None:
        """Make the directory, readable by its owner alone.

        Raises:
            Unavailable: it cannot be made or written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            for private in (self.logs, self.credentials, self.path / "tokens"):
                private.mkdir(exist_ok=True, mode=0o700)
        except OSError as e:
            raise Unavailable(
                f"the data directory {self.path} cannot be used ({e.strerror}): "
                f"give another with --data-dir or {VARIABLE}"
            ) from e

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Be the one that runs on this directory. The operating system lets go of it when the process ends.

        Raises:
            Unavailable: somebody else holds it; the message says who.
        """
        with (self.path / "lock").open("a+", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as e:
                lock.seek(0)
                pid = lock.read().strip() or "unknown"
                raise Unavailable(
                    f"the data directory {self.path} is held by another `afterwit up`, process {pid}: "
                    f"use that one, stop it with `kill {pid}`, or give another --data-dir",
                    pid=int(pid) if pid.isdecimal() else None,
                ) from e
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            yield

    def held_by(self) -> int | None:
        """The pid of the `afterwit up` that runs here now."""
        try:
            with (self.path / "lock").open(encoding="utf-8") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    pid = lock.read().strip()
                    return int(pid) if pid.isdecimal() else None
        except OSError:
            pass  # never run here, or not ours to read
        return None

    def running(self) -> Ready | None:
        """Where the `afterwit up` that runs here is reached; None if none does, or it is not ready yet."""
        if self.held_by() is None:
            return None
        try:
            return msgspec.json.decode(self.ready_file.read_bytes(), type=Ready)
        except FileNotFoundError:
            return None

    def keep_token(self, agent: str, token: str) -> None:
        """Keep the plain token of an agent of this machine."""
        write_private(self._token_file(agent), token + "\n")

    def forget_token(self, agent: str) -> None:
        """Keep it no longer."""
        self._token_file(agent).unlink(missing_ok=True)

    def kept_token(self, agent: str) -> str | None:
        """The token of an agent named by ``up --agent`` here."""
        try:
            return self._token_file(agent).read_text(encoding="utf-8").strip() or None
        except FileNotFoundError:
            return None

    def token(self, agent: str) -> str:
        """Like `kept_token`.

        Raises:
            NotFound: there is none; the message says how to get one.
        """
        token = self.kept_token(agent)
        if token is None:
            raise NotFound(
                f"no token of agent {agent!r} is kept in {self.path}: start with `afterwit up --agent {agent}`, "
                f"or give --token (from `afterwit agent add {agent}`)"
            )
        return token

    def _token_file(self, agent: str) -> Path:
        return self.path / "tokens" / checked_agent(agent)


def checked_agent(name: str) -> str:
    """``name``, if it can be an agent's.

    Raises:
        Invalid: it cannot.
    """
    try:
        checked: str = convert(name, AgentName)
    except Invalid as e:
        raise Invalid(f"{name!r} is no agent's name: it {e.message.partition(': ')[2]}", field="agent") from e
    return checked
