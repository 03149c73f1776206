"""Runs a command that dies with the process that started it: ``python -I -S tether.py PARENT_PID COMMAND…``.

Run as a script, never imported by the rest. The command takes this process's place, so its pid is the one that the
supervisor knows. Linux kills it when the parent is gone (``PR_SET_PDEATHSIG`` outlives ``exec``); elsewhere a small
watcher, which this forks, holds the reading end of a pipe (standard input) that closes when the parent dies.
A `preexec_fn` would do the same from inside the supervisor, but is not safe beside threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1


def _die_with_parent(parent: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # it died before we asked
        raise SystemExit(1)


def _watch_pipe(child: int) -> None:
    """In a process of its own: kill ``child`` once standard input ends; leave when the child is gone first."""
    os.set_blocking(0, False)
    while os.getppid() == child:
        try:
            if os.read(0, 1) == b"":
                os.kill(child, signal.SIGKILL)
                return
        except BlockingIOError:
            time.sleep(0.25)


def main(arguments: list[str]) -> None:
    """Tie this process to its parent and become the command."""
    parent, command = int(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        _die_with_parent(parent)
    else:
        child = os.getpid()
        if os.fork() == 0:
            _watch_pipe(child)
            os._exit(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.execvp(command[0], command)  # noqa: S606  # there is no shell because none is wanted


if __name__ == "__main__":
    main(sys.argv[1:])
