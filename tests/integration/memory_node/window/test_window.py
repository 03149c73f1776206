"""Windows on Valkey (from its wheel) and on the Redis of the machine, where there is one."""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from redis import Redis
from redis.exceptions import RedisError

from afterwit.memory_node.window import ValkeyWindow
from afterwit.schemas import LogEntry, Memory, Unavailable
from tests.engines.ports import free_port
from tests.engines.valkey import Valkey
from tests.engines.waiting import wait_until
from tests.samples import entry, next_version


@pytest.fixture(params=["valkey", "redis"])
def engine(request: pytest.FixtureRequest, no_leaks: None, tmp_path: Path) -> Iterator[str]:
    """The URL of a real server."""
    if request.param == "valkey":
        with Valkey(tmp_path) as server:
            yield server.url
        return
    if (program := shutil.which("redis-server")) is None:
        pytest.skip("there is no redis-server on this machine")
    port = free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(tmp_path), "--save", ""]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(30)


@pytest_asyncio.fixture
async def window(no_leaked_tasks: None, engine: str) -> AsyncIterator[ValkeyWindow]:
    def answers() -> bool:
        try:
            with Redis.from_url(engine) as probe:
                return bool(probe.ping())
        except RedisError:
            return False

    await wait_until(answers, description="the engine answers")
    window = ValkeyWindow(engine, timeout_s=30)
    yield window
    await window.close()


def turn(number: int, seq: int, content: str = "", *, session: str = "s") -> LogEntry:
    return entry(content or f"turn {number}", session_id=session, turn=number, seq=seq)


async def nothing() -> Sequence[Memory]:
    return []


async def test_versions_in_any_order_end_with_the_newest(window: ValkeyWindow) -> None:
    await window.rebuild("alice", "s", nothing)
    first = [turn(n, n) for n in range(1, 9)]
    versions = list(first)
    for round in range(1, 4):
        versions += [
            msgspec.structs.replace(v, memory=msgspec.structs.replace(v.memory, seq=100 * round + n))
            for n, v in enumerate((next_version(f, content=f"version {round}") for f in first), 1)
        ]
    random.Random(3).shuffle(versions)  # noqa: S311  # the same order in every run
    await asyncio.gather(*(window.put(versions[i : i + 5]) for i in range(0, len(versions), 5)))
    found = await window.recent("alice", "s")
    assert found is not None
    assert [memory.turn for memory in found] == list(range(1, 9))
    assert {memory.content for memory in found} == {"version 3"}


async def test_a_window_that_nobody_has_read_is_not_begun(window: ValkeyWindow) -> None:
    await window.put([turn(1, 1)])
    assert await window.recent("alice", "s") is None
    stored = [turn(1, 1).memory]

    async def read() -> Sequence[Memory]:
        await window.put([turn(2, 2)])  # comes while the index is being read
        return stored

    await window.rebuild("alice", "s", read)
    found = await window.recent("alice", "s")
    assert found is not None
    assert [memory.content for memory in found] == ["turn 1", "turn 2"]
    assert await window.recent("alice", "other") is None
    await window.clear()
    assert await window.recent("alice", "s") is None


async def test_what_is_archived_leaves_and_stays_away(window: ValkeyWindow) -> None:
    await window.rebuild("alice", "s", nothing)
    kept, gone = turn(1, 1), turn(2, 2)
    archived = msgspec.structs.replace(gone, memory=msgspec.structs.replace(gone.memory, status="archived", seq=3))
    await window.put([kept, archived])
    await window.put([gone])
    assert await window.recent("alice", "s") == [kept.memory]


async def test_every_key_expires(window: ValkeyWindow, engine: str) -> None:
    await window.rebuild("alice", "s", nothing)
    await window.put([turn(1, 1)])
    with Redis.from_url(engine) as probe:
        keys = list(probe.scan_iter("*"))
        assert len(keys) == 3
        assert all(int(str(probe.ttl(key))) > 0 for key in keys)


async def test_nobody_there(no_leaked_tasks: None) -> None:
    window = ValkeyWindow(f"redis://127.0.0.1:{free_port()}/0")
    await window.put([turn(1, 1)])
    assert window.state == "away"
    with pytest.raises(Unavailable):
        await window.recent("alice", "s")
    await window.close()
