"""A NATS server configured as on one machine, and the parts' connections to it."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import nats
import pytest
import pytest_asyncio
from nats.aio.client import Client

from afterwit.bus import names
from afterwit.bus.connection import Credentials, connect
from afterwit.bus.identity import Agents, AuthCallout, PoolRegistry, disconnect, serve_callout
from afterwit.bus.streams import ensure_streams
from afterwit.deploy.engines.nats import NatsCredentials, make_credentials, nats_config
from tests.engines.nats_server import NatsServer


@dataclass
class Bus:
    """A server, and ways in."""

    server: NatsServer
    credentials: NatsCredentials
    secrets: Path

    async def part(self, name: str, inbox_prefix: str | None = None) -> Client:
        """A connection of one of our parts."""
        credentials = Credentials.from_file(self.secrets / f"{name}.json")
        return await connect(self.server.url, name=name, credentials=credentials, inbox_prefix=inbox_prefix)


@dataclass
class Agent:
    """A plain nats-py client with an agent's token, and what the server told it."""

    nc: Client
    errors: list[str] = field(default_factory=list)
    reconnects: int = 0

    def refusals(self, what: str = "authorization violation") -> int:
        """How often the server has said ``what``."""
        return sum(what in error.lower() for error in self.errors)


async def settled(nc: Client) -> None:
    """The server has all that ``nc`` sent.

    nats-py's flush writes its ping past what still waits to be sent (2.16): it takes two.
    """
    await nc.flush()
    await nc.flush()


Connecting = Callable[..., Awaitable[Agent]]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may stand still for a while."""
    monkeypatch.setattr("afterwit.bus.identity.connections._TIMEOUT_S", 30.0)


@pytest.fixture
def bus(no_leaks: None, tmp_path: Path) -> Iterator[Bus]:
    """The server runs; nobody is connected."""
    secrets = tmp_path / "credentials"
    credentials = make_credentials(secrets)
    server = NatsServer(tmp_path / "nats")
    server._extra = nats_config(
        host="127.0.0.1", port=server.port, store_dir=tmp_path / "nats", credentials=credentials
    )
    with server:
        yield Bus(server, credentials, secrets)


@pytest_asyncio.fixture
async def node(no_leaked_tasks: None, bus: Bus) -> AsyncIterator[Client]:
    """A node's connection; all streams are there."""
    nc = await bus.part("node")
    await ensure_streams(nc.jetstream())
    yield nc
    await nc.close()


@pytest.fixture
def agents(node: Client) -> Agents:
    return Agents(node)


@pytest.fixture
def pools(node: Client) -> PoolRegistry:
    return PoolRegistry(node)


@pytest_asyncio.fixture
async def system(bus: Bus) -> AsyncIterator[Client]:
    """A connection in the system account."""
    nc = await bus.part("sys")
    yield nc
    await nc.close()


@pytest_asyncio.fixture
async def callout(bus: Bus, agents: Agents, pools: PoolRegistry, system: Client) -> AsyncIterator[AuthCallout]:
    """Agents can connect."""
    end = partial(disconnect, system)
    async with serve_callout(bus.server.url, bus.secrets / "callout.json", agents, pools, disconnect=end) as serving:
        yield serving


@pytest_asyncio.fixture
async def connect_agent(bus: Bus, callout: AuthCallout) -> AsyncIterator[Connecting]:
    """Connects with a token as the contract tells services to."""
    everyone: list[Agent] = []
    async with AsyncExitStack() as stack:

        async def connect_with(token: str, agent: str) -> Agent:
            connected = Agent(Client())

            async def on_error(error: Exception) -> None:
                connected.errors.append(str(error))

            async def on_reconnect() -> None:
                connected.reconnects += 1

            connected.nc = await nats.connect(
                bus.server.url,
                token=token,
                inbox_prefix=names.inbox(agent),
                error_cb=on_error,
                reconnected_cb=on_reconnect,
                reconnect_time_wait=0.05,
                max_reconnect_attempts=200,
                connect_timeout=10,
            )
            connected.errors.clear()  # while the callout stands still, a client is refused, and comes again
            stack.push_async_callback(_close, connected.nc)
            everyone.append(connected)
            return connected

        yield connect_with
        came_back = any(each.reconnects or each.nc._reconnection_task for each in everyone)
    if came_back:
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            gc.collect()  # nats-py 2.16 forgets the sockets of attempts to reconnect that were refused


async def _close(nc: Client) -> None:
    coming_back = nc._reconnection_task
    await nc.close()
    if coming_back is not None:  # closed while it came back, nats-py 2.16 can leave this running
        coming_back.cancel()
        await asyncio.wait((coming_back,))
