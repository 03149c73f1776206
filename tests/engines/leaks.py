"""Fails a test that leaves something behind: tasks, threads, sockets, child processes."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_PATIENCE_S = 20.0
"""A machine may stand still for seconds. Who leaves nothing waits for nothing."""
_LIBRARY_THREADS = ("asyncio_", "pytest_timeout", "OtelBatch", "tokio", "ThreadPoolExecutor-")
"""Threads of pools that live as long as the process by design."""
_LISTEN = "0A"


@contextmanager
def leak_check() -> Iterator[None]:
    """What the body starts must be gone when it ends. Sockets and processes are looked for on Linux alone.

    Raises:
        AssertionError: names what was left.
    """
    before = _Held.now()
    yield
    deadline = time.monotonic() + _PATIENCE_S
    while left := _Held.now().beyond(before):
        if time.monotonic() > deadline:
            raise AssertionError("the test left behind: " + "; ".join(sorted(left)))
        gc.collect()
        time.sleep(0.01)


async def leftover_tasks(before: set[asyncio.Task[object]]) -> list[str]:
    """Names of the tasks that run now, did not before, and do not end by themselves at once."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        left = [t for t in asyncio.all_tasks() - before if t is not asyncio.current_task()]
        if not left or time.monotonic() > deadline:
            return [f"task {task.get_name()}: {task.get_coro()}" for task in left]
        await asyncio.sleep(0.01)


class _Held(NamedTuple):
    """What this process holds now: threads by name, children by process id, sockets by inode."""

    threads: frozenset[str]
    children: frozenset[str]
    sockets: frozenset[str]

    @classmethod
    def now(cls) -> _Held:
        threads = (f"{t.name} ({t.ident})" for t in threading.enumerate() if not t.name.startswith(_LIBRARY_THREADS))
        return cls(frozenset(threads), frozenset(_children()), frozenset(_sockets()))

    def beyond(self, before: _Held) -> list[str]:
        """Descriptions of what is held now and was not before."""
        left = [f"thread {name}" for name in self.threads - before.threads]
        left += [f"child process {pid}" for pid in self.children - before.children]
        if new := self.sockets - before.sockets:
            left += _named(new)
        return left


def _children() -> Iterator[str]:
    """Process ids of direct children, zombies too."""
    for path in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:  # the thread has ended meanwhile; its children are another's now
            continue
        for pid in children:
            if "multiprocessing.resource_tracker" not in (command := _command(pid)):  # lives as long as the process
                yield f"{pid} ({command})"


def _command(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip() or "a zombie"
    except OSError:
        return "gone"


def _sockets() -> Iterator[str]:
    """Inodes of open sockets."""
    for fd in Path("/proc/self/fd").glob("*"):
        try:
            target = str(fd.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[8:-1]


def _named(inodes: frozenset[str]) -> Iterator[str]:
    """Descriptions of those that are TCP sockets: event loops' own pairs are not, and come and go with them."""
    for table in ("tcp", "tcp6"):
        path = Path(f"/proc/self/net/{table}")
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            columns = line.split()
            if columns[9] in inodes:
                yield f"{table} socket {'listening on ' if columns[3] == _LISTEN else ''}{columns[1]} → {columns[2]}"
