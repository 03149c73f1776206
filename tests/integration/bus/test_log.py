"""The log on a real server: compare-and-set, reading, and honest answers when the server goes away."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext

from afterwit.bus import names
from afterwit.bus.log import Log, LogRecord, UnreadableEntry, WrongLastSequence
from afterwit.schemas import TimedOut, TooLarge, Unavailable
from tests.engines.nats_server import NatsServer
from tests.samples import entry, new_id, next_version


async def test_an_appended_entry_is_read_back_with_its_sequence(nc: Client, js: JetStreamContext) -> None:
    log = Log(nc)
    written = entry("the deploy failed at 14:02")
    seq = await log.append(written, expected_seq=0)
    expected = msgspec.structs.replace(written, memory=msgspec.structs.replace(written.memory, seq=seq))
    assert await log.latest(written.memory.id) == LogRecord(expected, seq)
    assert await log.latest(written.memory.id, written.memory.pool) == LogRecord(expected, seq)
    assert await log.latest(written.memory.id, "shared/elsewhere") is None
    assert await log.latest(new_id()) is None


async def test_append_is_compare_and_set(nc: Client, js: JetStreamContext) -> None:
    log = Log(nc)
    first = entry("one")
    seq = await log.append(first, expected_seq=0)
    with pytest.raises(WrongLastSequence):
        await log.append(first, expected_seq=0)
    second = next_version(first, content="two")
    with pytest.raises(WrongLastSequence):
        await log.append(second, expected_seq=seq + 1)
    assert await log.append(second, expected_seq=seq) > seq


async def test_of_many_racing_writers_exactly_one_wins(nc: Client, js: JetStreamContext) -> None:
    log = Log(nc)
    first = entry("start")
    seq = await log.append(first, expected_seq=0)
    rivals = [(next_version(first, content=f"writer {n}"), seq) for n in range(50)]
    results = await log.append_many(rivals)
    winners = [r for r in results if isinstance(r, int)]
    assert len(winners) == 1
    assert all(isinstance(r, int | WrongLastSequence) for r in results)


async def test_history_and_replay_come_oldest_first(nc: Client, js: JetStreamContext) -> None:
    log = Log(nc)
    version = entry("v1")
    seqs = [await log.append(version, expected_seq=0)]
    await log.append_many([(entry(f"other {n}"), 0) for n in range(300)])
    for n in range(2, 5):
        version = next_version(version, content=f"v{n}")
        seqs.append(await log.append(version, expected_seq=seqs[-1]))
    history = await log.history(version.memory.id, version.memory.pool)
    assert [(r.seq, r.entry.memory.content) for r in history] == list(zip(seqs, ["v1", "v2", "v3", "v4"], strict=True))
    everything = [r.seq async for r in log.replay()]
    assert everything == list(range(1, 305))
    assert [r.seq async for r in log.replay(from_seq=300)] == list(range(300, 305))
    assert [r.seq async for r in log.replay(from_seq=305)] == []


async def test_latest_many_finds_those_that_exist(nc: Client, js: JetStreamContext) -> None:
    log = Log(nc)
    entries = [entry(f"memory {n}", pool=f"shared/p{n % 7}") for n in range(700)]
    seqs = await log.append_many([(e, 0) for e in entries])
    updated = next_version(entries[0], content="again")
    seq = await log.append(updated, expected_seq=seqs[0] if isinstance(seqs[0], int) else -1)
    ids = [e.memory.id for e in entries]
    found = await log.latest_many([*ids, new_id(), ids[3]])
    assert set(found) == set(ids)
    assert found[ids[0]].seq == seq
    assert found[ids[0]].entry.memory.content == "again"
    assert await log.latest_many([]) == {}
    hints = {e.memory.id: e.memory.pool for e in entries[:5]} | {ids[5]: "shared/elsewhere"}
    assert set(await log.latest_many(ids[:10], hints)) == {*ids[:5], *ids[6:10]}


@pytest.mark.parametrize("replicas", [1, 3])
async def test_reading_from_the_leader_gives_the_same(nc: Client, js: JetStreamContext, replicas: int) -> None:
    log = Log(nc, replicas=replicas)  # `replicas` only chooses how to read; the server has one
    written = entry("read me")
    seq = await log.append(written, expected_seq=0)
    record = await log.latest(written.memory.id)
    assert record is not None
    assert record.seq == seq
    assert await log.latest(new_id()) is None
    assert (await log.latest_many([written.memory.id, new_id()])).keys() == {written.memory.id}


async def test_an_entry_over_the_servers_limit_is_too_large(nc: Client, js: JetStreamContext) -> None:
    with pytest.raises(TooLarge):
        await Log(nc).append(entry("x" * 2_000_000), expected_seq=0)


async def test_what_is_no_entry_is_reported_with_its_place(nc: Client, js: JetStreamContext) -> None:
    id = new_id()
    ack = await js.publish(names.log("agent/alice", id), b"not an entry")
    with pytest.raises(UnreadableEntry) as caught:
        await Log(nc).latest(id)
    assert caught.value.detail["seq"] == ack.seq


async def test_without_a_server_an_append_says_that_nothing_was_written(
    nats_server: NatsServer, nc: Client, js: JetStreamContext
) -> None:
    nats_server.kill()
    log = Log(nc, timeout_s=0.3)
    written = entry("never")
    with pytest.raises((Unavailable, TimedOut)):
        await log.append(written, expected_seq=0)
    with pytest.raises(Unavailable):
        await log.latest(written.memory.id)


async def test_every_answer_is_true_when_the_server_is_killed_under_the_writers(
    nats_server: NatsServer, nc: Client, js: JetStreamContext
) -> None:
    """Writers append versions while the server is killed and restarted: what was acknowledged is there, once."""
    log = Log(nc, timeout_s=20.0)
    stop, progress = asyncio.Event(), asyncio.Event()
    acknowledged: dict[str, list[int]] = {}

    async def writer() -> None:
        current = entry("v1")
        seqs = acknowledged.setdefault(current.memory.id, [])
        while not stop.is_set():
            # No WrongLastSequence may come: nobody else writes to this memory.
            seqs.append(await log.append(current, expected_seq=seqs[-1] if seqs else 0))
            current = next_version(current, content=f"v{len(seqs) + 1}")
            progress.set()

    async with asyncio.TaskGroup() as group:
        for _ in range(16):
            group.create_task(writer())
        for _ in range(3):
            wanted = sum(map(len, acknowledged.values())) + 200
            while sum(map(len, acknowledged.values())) < wanted:
                await asyncio.wait_for(progress.wait(), 30)
                progress.clear()
            await asyncio.to_thread(nats_server.kill)
            await asyncio.to_thread(nats_server.start)
        stop.set()
    for id, seqs in acknowledged.items():
        history = await log.history(id, "agent/alice")
        assert [record.seq for record in history] == seqs
        assert [record.entry.memory.version for record in history] == list(range(1, len(seqs) + 1))
