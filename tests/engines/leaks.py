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

_PATIENCE_S = 3.0
_LIBRARY_THREADS = ("asyncio_", "pytest_timeout", "OtelBatch", "tokio", "ThreadPoolExecutor-")
"""Threads of pools that live as long as the process by design."""


@contextmanager
def leak_check(allowed_children: frozenset[int] = frozenset()) -> Iterator[None]:
    """What the body starts must be gone when it ends.

    Raises:
        AssertionError: names what was left.
    """
    before = _Snapshot.take()
    yield
    deadline = time.monotonic() + _PATIENCE_S
    while left := _Snapshot.take().beyond(before):
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


class _Snapshot:
    def __init__(self, threads: set[str], children: set[str], sockets: set[str]) -> None:
        self._held = {"thread": threads, "child process": children, "socket": sockets}

    @classmethod
    def take(cls) -> _Snapshot:
        threads = {
            f"{thread.name} ({thread.ident})"
            for thread in threading.enumerate()
            if not thread.name.startswith(_LIBRARY_THREADS)
        }
        return cls(threads, set(_children()), set(_sockets()))

    def beyond(self, before: _Snapshot) -> list[str]:
        return [f"{kind} {one}" for kind, held in self._held.items() for one in held - before._held[kind]]


def _children() -> Iterator[str]:
    """Direct children of this process, zombies too. Only Linux says; elsewhere nothing is checked."""
    for path in Path("/proc").glob(f"{os.getpid()}/task/*/children"):
        yield from path.read_text().split()


def _sockets() -> Iterator[str]:
    """Sockets to other parties; the loops' own pairs are unnamed ones and come and go with them."""
    inodes = set()
    for fd in Path("/proc/self/fd").glob("*"):
        try:
            target = str(fd.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    for table in ("tcp", "tcp6"):
        path = Path(f"/proc/self/net/{table}")
        if path.exists():
            for line in path.read_text().splitlines()[1:]:
                columns = line.split()
                if columns[9] in inodes:
                    yield f"{table} {columns[1]} → {columns[2]}"
