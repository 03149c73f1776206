"""A connection that NATS ends for good: whoever lives by it ends as well, so that it is started anew."""

from __future__ import annotations

import asyncio
from pathlib import Path

from afterwit.memory_node import node
from afterwit.memory_node.settings import NodeSettings
from tests.embedders import WordEmbedder
from tests.engines.nats_server import NatsServer


async def test_a_node_is_told_when_its_connection_is_ended_for_good(
    nats_server: NatsServer, valkey: str, tmp_path: Path
) -> None:
    settings = NodeSettings(nats_url=nats_server.url, redis_url=valkey, data_dir=tmp_path / "data")
    ended = asyncio.Event()
    async with node.running(settings, embedder=WordEmbedder(), on_closed=ended.set):
        nats_server.reload('authorization { token: "another" }')
        async with asyncio.timeout(10):
            await ended.wait()
