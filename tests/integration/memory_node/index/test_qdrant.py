"""The index on a Qdrant server: several nodes at once, and a server that is away, slow, old or not ours."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from afterwit.memory_node.index import Calibration, _client, _collections
from afterwit.memory_node.index.qdrant import QdrantIndex, client_for
from afterwit.memory_node.index_of import index_of
from afterwit.memory_node.settings import NodeSettings
from afterwit.schemas import Internal, Invalid, LogEntry, Unavailable
from tests.engines.ports import free_port
from tests.engines.qdrant import QdrantFacade
from tests.engines.waiting import wait_until

from .conftest import EVERYTHING, EntryMaker, asked, log_of, of


@pytest_asyncio.fixture
async def nodes(
    no_leaked_tasks: None, qdrant: QdrantFacade, calibration: Calibration, unused: str
) -> AsyncIterator[tuple[QdrantIndex, QdrantIndex]]:
    """The same index, opened by two nodes at the same time."""
    async with AsyncExitStack() as stack:
        opened = await asyncio.gather(
            *(QdrantIndex.open(client_for(qdrant.url), calibration, prefix=f"nodes-{unused}") for _ in range(2))
        )
        one, two = [await stack.enter_async_context(each) for each in opened]
        yield one, two


Nodes = tuple[QdrantIndex, QdrantIndex]


def versions_of(entry: LogEntry, count: int) -> list[LogEntry]:
    """``count`` versions, with sequences in steps of 100."""
    first = entry.memory
    assert first.seq is not None
    return [
        of(msgspec.structs.replace(first, version=v, seq=first.seq + 100 * v, content=f"version {v}"))
        for v in range(1, count + 1)
    ]


@pytest.mark.parametrize("seed", range(3))
async def test_whoever_writes_last_the_newest_version_stays(nodes: Nodes, entry: EntryMaker, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # not a secret
    memories = [versions_of(entry(), 6) for _ in range(8)]
    dealt = [version for versions in memories for version in versions] * 2
    chance.shuffle(dealt)
    batches = [dealt[i : i + 5] for i in range(0, len(dealt), 5)]
    await asyncio.gather(*(chance.choice(nodes).put(batch) for batch in batches))
    for node in nodes:
        found = await node.seqs([versions[0].memory.id for versions in memories])
        assert found == {versions[-1].memory.id: versions[-1].memory.seq for versions in memories}
        assert {memory.content for memory in await node.find(EVERYTHING, 20)} == {"version 6"}


async def test_an_insert_that_two_nodes_race_for(nodes: Nodes, entry: EntryMaker) -> None:
    for _ in range(20):
        old, new = versions_of(entry(), 2)
        await asyncio.gather(nodes[0].put([new]), nodes[1].put([old]))
        assert await nodes[0].seqs([old.memory.id]) == {old.memory.id: new.memory.seq}


async def test_in_a_batch_each_memory_is_judged_by_its_own_version(nodes: Nodes, entry: EntryMaker) -> None:
    """One condition serves a whole batch; what it spares too much is written in a second round."""
    early = entry("an early one")  # its sequence is the lowest: the condition of the batch
    versions = versions_of(entry(), 3)
    await nodes[0].put([versions[0]])
    await nodes[1].put([early, versions[1]])
    assert await nodes[0].seqs([versions[0].memory.id]) == {versions[0].memory.id: versions[1].memory.seq}
    await nodes[1].put([early, versions[0]])
    assert await nodes[0].seqs([versions[0].memory.id]) == {versions[0].memory.id: versions[1].memory.seq}


async def test_a_write_that_is_acknowledged_and_not_there_is_noticed(
    nodes: Nodes, entry: EntryMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*_: object, **__: object) -> list[object]:
        return []

    monkeypatch.setattr(nodes[0]._client, "batch_update_points", nothing)
    with pytest.raises(Unavailable, match="does not show"):
        await nodes[0].put([entry()])
    assert nodes[0].state == "away"


async def test_a_rebuild_misses_nothing_that_another_node_acknowledges(nodes: Nodes, entry: EntryMaker) -> None:
    rebuilding, other = nodes
    old = [entry(f"old {n}") for n in range(20)]
    await other.put(old)
    written: list[LogEntry] = []  # in the log: that comes before the index
    stop = asyncio.Event()

    async def write() -> None:
        while not stop.is_set():
            written.append(entry(f"new {len(written)}"))
            await other.put(written[-1:])

    async def source() -> AsyncIterator[Sequence[LogEntry]]:
        yield [*old, *written]  # what the log holds when reading begins
        target = len(written) + 5
        await wait_until(lambda: len(written) >= target, description="the other node goes on writing")

    writing = asyncio.create_task(write())
    for _ in range(3):
        await rebuilding.rebuilt(source())
    stop.set()
    await writing
    everything = [*old, *written]
    for node in nodes:
        assert await node.seqs([e.memory.id for e in everything]) == {e.memory.id: e.memory.seq for e in everything}


async def test_nodes_that_start_together_each_fill_it_and_one_collection_stays(
    nodes: Nodes, entry: EntryMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [node.created for node in nodes] == [True, True]
    entries = [entry(f"note {n}") for n in range(10)]
    await asyncio.gather(*(node.rebuilt(log_of(entries)) for node in nodes))
    assert [await node.count(EVERYTHING) for node in nodes] == [10, 10]
    for node in nodes:
        await node.put([entry("one more")])
    assert [await node.count(EVERYTHING) for node in nodes] == [12, 12]
    targets = await nodes[0]._collections.targets()
    assert targets is not None
    assert (targets.whole, targets.next) == (True, ())
    monkeypatch.setattr(_collections, "_ANNOUNCED_AFTER_S", -1)
    await nodes[0].rebuilt(log_of(entries))
    collections = (await nodes[0]._client.get_collections()).collections
    assert len([each for each in collections if each.name.startswith(nodes[0]._collections.alias)]) == 1
    assert not nodes[0].created


async def test_a_rebuild_that_died_with_its_node_is_removed_by_a_later_one(
    nodes: Nodes, entry: EntryMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = await nodes[0]._collections.begin()
    await nodes[1].put([entry()])
    assert left in nodes[1]._targets.next
    monkeypatch.setattr(_collections, "_ABANDONED_AFTER_S", -1)
    await nodes[1].rebuilt(log_of([entry("note")]))
    assert not await nodes[0]._client.collection_exists(left)
    await nodes[0].put([entry()])
    assert nodes[0]._targets.next == ()


async def test_what_is_kept_outlives_a_crash_of_the_server(
    no_leaks: None, tmp_path: Path, calibration: Calibration, entry: EntryMaker
) -> None:
    with QdrantFacade(tmp_path) as server:
        async with await QdrantIndex.open(client_for(server.url), calibration) as index:
            await index.put([entry("the fox sleeps")])
            assert index.state == "ok"
            server.kill()
            with pytest.raises(Unavailable, match="cannot be reached"):  # at once: no time-out has to pass
                await index.search(asked("fox"))
            with pytest.raises(Unavailable, match="cannot be reached"):
                await index.put([entry()])
            assert index.state == "away"
            server.start()
            (hit,) = await index.search(asked("fox"))
            assert hit.memory.content == "the fox sleeps"
            assert index.state == "ok"


async def test_a_server_that_does_not_answer_is_not_waited_for_long(
    no_leaked_tasks: None, qdrant: QdrantFacade, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.sleep(3600)

    monkeypatch.setattr("afterwit.memory_node.index.qdrant._READ_WITHIN_S", 0.05)
    monkeypatch.setattr(nodes[0]._client, "count", never)
    with pytest.raises(Unavailable, match="in time"):
        await nodes[0].count(EVERYTHING)


async def test_what_the_server_calls_wrong_is_our_fault(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it is not tried for ever: see the indexer."""
    with pytest.raises(Internal, match="400"):
        await nodes[0].seqs(["not an id"])


async def test_nobody_there(calibration: Calibration) -> None:
    with pytest.raises(Unavailable, match="cannot be reached"):
        await QdrantIndex.open(client_for(f"http://127.0.0.1:{free_port()}"), calibration)


@pytest.mark.parametrize(
    ("version", "good"), [("1.18.9", False), ("1.19.0", True), ("1.20.1-dev", True), ("2.0", True)]
)
def test_old_servers_are_refused(version: str, good: bool) -> None:
    if good:
        _client.check_version(version)
    else:
        with pytest.raises(Unavailable, match=r"1\.19 or later"):
            _client.check_version(version)


async def test_the_settings_choose_the_index(
    qdrant: QdrantFacade, tmp_path: Path, calibration: Calibration, unused: str, entry: EntryMaker
) -> None:
    settings = NodeSettings.from_env(
        {"AFTERWIT_QDRANT_URL": qdrant.url, "AFTERWIT_QDRANT_PREFIX": unused, "AFTERWIT_DATA_DIR": str(tmp_path)}
    )
    async with index_of(settings, calibration) as index:
        assert isinstance(index, QdrantIndex)
        await index.put([entry("a fox")])
    embedded = NodeSettings.from_env({"AFTERWIT_DATA_DIR": str(tmp_path)})
    async with index_of(embedded, calibration) as index:
        assert await index.count(EVERYTHING) == 0
    with pytest.raises(Invalid, match="AFTERWIT_QDRANT_URL"):
        NodeSettings.from_env({"AFTERWIT_QDRANT_URL": "qdrant:6333"})


async def test_the_api_key_is_sent(no_leaks: None, calibration: Calibration) -> None:
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.warns(UserWarning, match="insecure"):
            client = client_for(f"http://127.0.0.1:{port}", "a-key")
        with pytest.raises(Unavailable, match="401"):
            await QdrantIndex.open(client, calibration)
    assert b"api-key: a-key" in heard[0].lower()
