"""Notices under an agent's own credentials: over which connection they come, and what is told of its gaps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import nats.errors
import pytest
import pytest_asyncio
from nats.aio.client import Client

from afterwit.bus.connection import Connection, connect
from afterwit.bus.mcp.agent_feed import AgentFeed
from afterwit.bus.notices import Notices
from afterwit.bus.streams import ensure_streams
from afterwit.schemas import Notice
from tests.engines.nats_server import NatsServer
from tests.engines.waiting import wait_until
from tests.samples import new_id

ONE, OTHER = "shared/one", "shared/other"


class Bus:
    """Connections as a feed makes them, and what its agent may read; a `broken` one fails when it is used."""

    def __init__(self, server: NatsServer) -> None:
        self.server = server
        self.made: list[Connection] = []
        self.readable = frozenset({ONE})
        self.broken = False

    async def connect(self) -> Connection:
        nc = await connect(self.server.url, name="feed")
        self.made.append(nc)
        if self.broken:
            nc.flush = self._fail  # type: ignore[method-assign]
        return nc

    async def may_read(self) -> frozenset[str]:
        return self.readable

    async def _fail(self, timeout: int = 10) -> None:  # noqa: ASYNC109  # nats-py's own signature
        raise nats.errors.FlushTimeoutError


@pytest.fixture
def bus(nats_server: NatsServer) -> Bus:
    return Bus(nats_server)


@pytest_asyncio.fixture
async def feed(no_leaked_tasks: None, bus: Bus) -> AsyncIterator[AgentFeed]:
    feed = AgentFeed(bus.connect, bus.may_read)
    yield feed
    await feed.close()


async def published(nc: Client, pool: str) -> Notice:
    id = new_id()
    notice = Notice(
        uri=f"memory://{pool}/{id}", pool=pool, tier="semantic", id=id, version=1, seq=1, change="created",
        actor="alice", at=datetime(2026, 11, 30, tzinfo=UTC),
    )  # fmt: skip
    await Notices(nc, nc.jetstream()).publish([notice])
    return notice


async def test_a_connection_that_cannot_be_used_leaves_the_one_before(bus: Bus, nc: Client, feed: AgentFeed) -> None:
    """Nothing is heard twice, or no more, and no connection is left behind."""
    await ensure_streams(nc.jetstream())
    heard: list[Notice] = []
    await feed.subscribe(heard.append, ONE)
    bus.readable, bus.broken = frozenset({ONE, OTHER}), True
    with pytest.raises(nats.errors.FlushTimeoutError):
        await feed.subscribe(heard.append, OTHER)
    expected = [await published(nc, ONE)]
    await wait_until(lambda: heard == expected, description="the one before is in use")
    assert [made.is_closed for made in bus.made] == [False, True]
    bus.broken = False
    await feed.subscribe(heard.append, OTHER)
    expected += [await published(nc, ONE), await published(nc, OTHER)]
    await wait_until(lambda: len(heard) == 3, description="both are heard")
    assert heard == expected
    assert [made.is_closed for made in bus.made] == [True, True, False]


async def test_a_gap_is_told_when_the_feeds_own_connection_was_away(bus: Bus, feed: AgentFeed) -> None:
    gaps: list[bool] = []
    feed.on_gap = lambda: gaps.append(True)
    heard: list[Notice] = []
    await feed.subscribe(heard.append, ONE)
    assert not gaps
    bus.server.restart()
    await wait_until(lambda: gaps, description="the gap is told")
