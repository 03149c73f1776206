"""What a node cannot go on without is gone for good: it ends as well, so that it is started anew."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.js import api
from nats.js.errors import APIError

from afterwit.bus import names
from afterwit.bus.streams import kept_streams
from afterwit.memory_node import node
from afterwit.memory_node.settings import NodeSettings
from tests.embedders import WordEmbedder
from tests.engines.nats_server import NatsServer


@pytest.fixture
def settings(nats_server: NatsServer, valkey: str, tmp_path: Path) -> NodeSettings:
    return NodeSettings(nats_url=nats_server.url, redis_url=valkey, data_dir=tmp_path / "data")


async def test_a_node_is_told_when_its_connection_is_ended_for_good(
    nats_server: NatsServer, settings: NodeSettings
) -> None:
    ended = asyncio.Event()
    async with node.running(settings, embedder=WordEmbedder(), on_failed=ended.set):
        nats_server.reload('authorization { token: "another" }')
        async with asyncio.timeout(10):
            await ended.wait()


async def test_a_node_ends_with_the_error_of_its_indexer(settings: NodeSettings, nc: Client) -> None:
    js = nc.jetstream()
    async with kept_streams(js):
        pass
    another = api.ConsumerConfig(durable_name=names.INDEXER, deliver_policy=api.DeliverPolicy.NEW)
    await js.add_consumer(names.LOG, another)

    async def until_it_fails() -> None:
        failed = asyncio.Event()
        async with node.running(settings, embedder=WordEmbedder(), on_failed=failed.set), asyncio.timeout(10):
            await failed.wait()

    with pytest.raises(APIError):
        await until_it_fails()
