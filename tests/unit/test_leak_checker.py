"""The leak checker itself: it sees what is left, and only that."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.engines import leaks
from tests.engines.leaks import leak_check, leftover_tasks


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaks, "_PATIENCE_S", 0.05)


@contextmanager
def caught(text: str) -> Iterator[None]:
    with pytest.raises(AssertionError, match=text), leak_check():
        yield


def test_what_is_cleaned_up_is_no_leak() -> None:
    with leak_check(), socket.create_server(("127.0.0.1", 0)):
        subprocess.run(["true"], check=True)
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()


def test_a_socket_is_seen() -> None:
    with caught("socket listening on"):
        server = socket.create_server(("127.0.0.1", 0))
    server.close()


def test_a_child_process_is_seen() -> None:
    with caught("child process"):
        process = subprocess.Popen(["sleep", "60"])
    process.kill()
    process.wait()


def test_a_thread_is_seen() -> None:
    end = threading.Event()
    with caught("thread leaky"):
        thread = threading.Thread(target=end.wait, name="leaky")
        thread.start()
    end.set()
    thread.join()


async def test_a_task_is_seen() -> None:
    before = set(asyncio.all_tasks())
    task = asyncio.create_task(asyncio.sleep(60), name="leaky")
    assert "leaky" in (await leftover_tasks(before))[0]
    task.cancel()
    await asyncio.wait([task])
    assert await leftover_tasks(before) == []
