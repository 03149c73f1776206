"""NATS behind a cable that is pulled out: packets vanish, and nobody is told. Needs network namespaces (root)."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from nats.aio.client import Client

from afterwit.bus.connection import connect
from afterwit.memory_node.settings import NodeSettings
from afterwit.schemas import TimedOut, Unavailable
from tests.engines.nats_server import EXECUTABLE, NatsServer
from tests.engines.waiting import wait_until

from .conftest import Bus

BOUNDED_S = 40.0
_NETWORK = f"10.{os.getpid() % 200 + 20}.7"


def _ip(*words: str) -> None:
    subprocess.run(("ip", *words), check=True, capture_output=True)


class FarServer(NatsServer):
    """A server in a network namespace of its own."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.space = f"aw{os.getpid()}"
        self.near, self.far = f"awn{os.getpid()}", f"awf{os.getpid()}"

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://{_NETWORK}.2:{self.port}"

    def lay_cable(self) -> None:
        """Make the namespace, and the way there."""
        _ip("netns", "add", self.space)
        _ip("link", "add", self.near, "type", "veth", "peer", "name", self.far, "netns", self.space)
        _ip("addr", "add", f"{_NETWORK}.1/24", "dev", self.near)
        _ip("link", "set", self.near, "up")
        _ip("-n", self.space, "addr", "add", f"{_NETWORK}.2/24", "dev", self.far)
        _ip("-n", self.space, "link", "set", "lo", "up")
        self.plug(inserted=True)

    def plug(self, *, inserted: bool) -> None:
        """Put the cable in, or pull it out."""
        _ip("-n", self.space, "link", "set", self.far, "up" if inserted else "down")

    def start(self) -> None:
        """Start it and wait until it says that it is ready."""
        self.directory.mkdir(parents=True, exist_ok=True)
        config = self.directory / "nats.conf"
        config.write_text(self.config().replace("127.0.0.1", "0.0.0.0"))  # noqa: S104  # within the namespace
        self._process = subprocess.Popen(
            ["ip", "netns", "exec", self.space, EXECUTABLE, "-c", config],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 30
        while "Server is ready" not in self.log:
            assert time.monotonic() < deadline, "nats-server did not come up"
            time.sleep(0.01)


@pytest.fixture
def far(no_leaks: None, tmp_path: Path) -> Iterator[FarServer]:
    if os.getuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the ip command")
    server = FarServer(tmp_path / "nats")
    try:
        server.lay_cable()
    except subprocess.CalledProcessError as e:
        pytest.skip(f"no network namespaces here: {e.stderr.decode().strip()}")
    try:
        with server:
            yield server
    finally:
        _ip("netns", "del", server.space)


@pytest.fixture
def settings(tmp_path: Path, far: FarServer, valkey: str) -> NodeSettings:
    return NodeSettings(nats_url=far.url, redis_url=valkey, data_dir=tmp_path / "data", visible_within_s=3.0)


@pytest_asyncio.fixture
async def nc(no_leaked_tasks: None, far: FarServer) -> AsyncIterator[Client]:
    client = await connect(far.url, name="test")
    yield client
    await client.close()


@pytest.mark.slow
async def test_requests_fail_in_time_and_all_comes_back(bus: Bus, far: FarServer, nc: Client) -> None:
    before = await bus.store("The crane is oiled.")
    far.plug(inserted=False)
    begun = time.monotonic()
    with pytest.raises((Unavailable, TimedOut)):
        await bus.store("The gate is shut.", idempotency_key="k")
    assert time.monotonic() - begun < BOUNDED_S
    far.plug(inserted=True)

    async def serves() -> bool:
        try:
            return (await bus.store("The gate is shut.", idempotency_key="k")).seq is not None
        except (Unavailable, TimedOut):
            return False

    await wait_until(serves, description="the node serves again", timeout_s=90)
    assert before.id in [item.memory.id for item in (await bus.retrieve("crane")).items]
    found = [item.memory for item in (await bus.retrieve("gate")).items if "gate" in item.memory.content]
    assert len(found) == 1
