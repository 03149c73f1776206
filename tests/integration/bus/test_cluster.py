"""The bus on three NATS servers: what was acknowledged outlives the loss of any one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from nats.aio.client import Client

from afterwit.bus import names
from afterwit.bus.connection import connect
from afterwit.bus.log import Log
from afterwit.bus.streams import STREAMS, ensure_streams
from tests.engines.nats_cluster import NatsCluster
from tests.samples import entry, next_version


@pytest_asyncio.fixture
async def cluster(no_leaked_tasks: None, tmp_path: Path) -> AsyncIterator[NatsCluster]:
    servers = NatsCluster(tmp_path / "cluster")
    await asyncio.to_thread(servers.__enter__)
    yield servers
    await asyncio.to_thread(servers.__exit__, None, None, None)


@pytest_asyncio.fixture
async def nc(cluster: NatsCluster) -> AsyncIterator[Client]:
    client = await connect(cluster.url, name="test")
    yield client
    await client.close()


async def test_every_stream_is_kept_three_times(nc: Client) -> None:
    js = nc.jetstream()
    await asyncio.gather(*(ensure_streams(js, replicas=3) for _ in range(2)))
    for stream in STREAMS:
        assert stream.name is not None
        info = await js.stream_info(stream.name)
        assert info.config.num_replicas == 3
        assert info.cluster is not None
        assert len(info.cluster.replicas or []) == 2


@pytest.mark.parametrize("victim", ["leader", "follower"])
async def test_a_server_dies_and_nothing_acknowledged_is_lost(cluster: NatsCluster, nc: Client, victim: str) -> None:
    js = nc.jetstream()
    await ensure_streams(js, replicas=3)
    log = Log(nc, replicas=3)
    first = [entry(f"note {i}") for i in range(50)]
    seqs = await log.append_many([(e, 0) for e in first])
    assert sorted(s for s in seqs if isinstance(s, int)) == list(range(1, 51))

    info = (await js.stream_info(names.LOG)).cluster
    assert info is not None
    assert info.leader is not None
    by_name = {server.directory.name: server for server in cluster.servers}
    followers = [name for name in by_name if name != info.leader]
    killed = by_name[info.leader if victim == "leader" else followers[0]]
    await asyncio.to_thread(killed.kill)

    for before, seq in zip(first, seqs, strict=True):  # each append waits for the election if it must
        assert isinstance(seq, int)
        await log.append(next_version(before, content="after the loss"), expected_seq=seq)
    await asyncio.to_thread(killed.start)
    await asyncio.to_thread(cluster.wait_healthy)
    found = await log.latest_many([e.memory.id for e in first])
    assert {r.entry.memory.version for r in found.values()} == {2}
    assert len(found) == 50
    assert len([r async for r in log.replay()]) == 100
