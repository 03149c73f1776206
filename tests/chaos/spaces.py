"""Parts that hang on cables of their own (`tests.engines.cables`): each moves to the far end of one that is free."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

from tests.engines.cables import Cable


def offer(directory: Path, cables: Sequence[Cable]) -> str:
    """Make ``directory``, in which each file is named as a cable's namespace and holds its address."""
    directory.mkdir()
    for cable in cables:
        (directory / cable.space).write_text(cable.address)
    return str(directory)


def take(directory: Path) -> Cable:
    """A cable that is free, until the process ends: its file is locked, whatever is executed later."""
    for file in sorted(directory.iterdir()):
        lock = os.open(file, os.O_RDWR)
        os.set_inheritable(lock, True)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        return Cable(file.name, file.read_text())
    raise RuntimeError(f"no namespace is free in {directory}")


def go_on_in(cable: Cable, command: Sequence[str]) -> None:
    """Become ``command`` at the cable's far end, under the same process id."""
    inside = (*cable.command, *command)
    os.execvp(inside[0], inside)  # noqa: S606  # no shell is what is wanted
