"""Fixtures for all tests: real engines on free loopback ports, and the leak checker."""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings
from nats.aio.client import Client
from nats.js import JetStreamContext

from afterwit.bus.connection import connect
from afterwit.bus.streams import ensure_streams
from tests.engines.agents import Agent, agent
from tests.engines.leaks import leak_check, leftover_tasks
from tests.engines.nats_server import NatsServer
from tests.engines.qdrant import QdrantFacade
from tests.engines.system import System, launched
from tests.engines.valkey import Valkey

# How long an example takes is no property of what is tested: a machine may stand still meanwhile.
settings.register_profile("afterwit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("afterwit")

_OUTLIVING = ("afterwit", "doomed", "pair", "qdrant")
"""Fixtures with processes that several tests share."""


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test cleans up after itself: threads, sockets, child processes."""
    for name in _OUTLIVING:
        if name in request.fixturenames:  # pytest would start it after us
            request.getfixturevalue(name)
    with leak_check():
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Asynchronous tests are checked for leaked tasks; for the others a loop would only cost time."""
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.function):
            item.fixturenames.insert(0, "no_leaked_tasks")


@pytest_asyncio.fixture
async def no_leaked_tasks(no_leaks: None) -> AsyncIterator[None]:
    """An asynchronous test ends the tasks that it began."""
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
    context = nc.jetstream(timeout=30)
    await ensure_streams(context)
    return context


@pytest.fixture
def valkey(no_leaks: None, tmp_path: Path) -> Iterator[str]:
    """The ``redis://`` URL of a real Valkey."""
    with Valkey(tmp_path / "valkey") as server:
        yield server.url


@pytest.fixture(scope="session")
def qdrant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantFacade]:
    """The façade of a Qdrant server. All tests share it: use a prefix of your own, and leave it running."""
    with QdrantFacade(tmp_path_factory.mktemp("qdrant")) as running:
        yield running


@pytest.fixture(scope="session")
def afterwit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """The running product with the agents alice, bob and carol. All tests share it: use names of your own in it."""
    with launched(tmp_path_factory.mktemp("afterwit"), "alice", "bob", "carol") as running:
        yield running


@pytest_asyncio.fixture
async def alice(no_leaked_tasks: None, afterwit: System) -> AsyncIterator[Agent]:
    """An agent of the shared system."""
    async with agent(afterwit, "alice") as one:
        yield one


@pytest_asyncio.fixture
async def bob(no_leaked_tasks: None, afterwit: System) -> AsyncIterator[Agent]:
    """An agent of the shared system."""
    async with agent(afterwit, "bob") as one:
        yield one


@pytest_asyncio.fixture
async def carol(no_leaked_tasks: None, afterwit: System) -> AsyncIterator[Agent]:
    """An agent of the shared system."""
    async with agent(afterwit, "carol") as one:
        yield one


_numbers = itertools.count(1)


@pytest.fixture
def unused() -> str:
    """A name that no other test uses: for pools, sessions, keys and tags."""
    return f"t{next(_numbers)}"


@pytest_asyncio.fixture
async def pool(alice: Agent, unused: str) -> str:
    """A new shared pool that alice owns."""
    name = f"shared/{unused}"
    await alice.ask("pool_create", pool=name)
    return name
