"""NATS behind a cable that is pulled out."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from nats.aio.client import Client

from afterwit.bus.connection import connect
from afterwit.memory_node.settings import NodeSettings
from afterwit.schemas import TimedOut, Unavailable
from tests.engines.cables import Cable, Network, NoNetwork
from tests.engines.nats_server import NatsServer
from tests.engines.waiting import wait_until

from .conftest import Bus

BOUNDED_S = 40.0


@pytest.fixture
def cable() -> Iterator[Cable]:
    try:
        with Network() as network:
            yield network.lay()
    except NoNetwork as e:
        pytest.skip(str(e))


@pytest.fixture
def far(cable: Cable, no_leaks: None, tmp_path: Path) -> Iterator[NatsServer]:
    with NatsServer(tmp_path / "nats", cable=cable) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, far: NatsServer, valkey: str) -> NodeSettings:
    return NodeSettings(nats_url=far.url, redis_url=valkey, data_dir=tmp_path / "data", visible_within_s=3.0)


@pytest_asyncio.fixture
async def nc(no_leaked_tasks: None, far: NatsServer) -> AsyncIterator[Client]:
    client = await connect(far.url, name="test")
    yield client
    await client.close()


@pytest.mark.slow
async def test_requests_fail_in_time_and_all_comes_back(bus: Bus, cable: Cable, nc: Client) -> None:
    before = await bus.store("The crane is oiled.")
    cable.plug(inserted=False)
    begun = time.monotonic()
    with pytest.raises((Unavailable, TimedOut)):
        await bus.store("The gate is shut.", idempotency_key="k")
    assert time.monotonic() - begun < BOUNDED_S
    cable.plug(inserted=True)

    async def serves() -> bool:
        try:
            return (await bus.store("The gate is shut.", idempotency_key="k")).seq is not None
        except (Unavailable, TimedOut):
            return False

    await wait_until(serves, description="the node serves again", timeout_s=90)
    assert before.id in [item.memory.id for item in (await bus.retrieve("crane")).items]
    found = [item.memory for item in (await bus.retrieve("gate")).items if "gate" in item.memory.content]
    assert len(found) == 1
