"""The gateway's server in this process, over a fake node: no NATS, no HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from collections.abc import Set as AbstractSet

import pytest
import pytest_asyncio

from afterwit.bus.mcp.access import Credential, owner_of
from afterwit.bus.mcp.hub import Hub
from afterwit.bus.mcp.node import Node
from afterwit.bus.mcp.server import MemoryServer, build_server
from afterwit.schemas import Notice
from tests.engines.fake_node import FakeNode


class FakeFeed:
    """Notices handed over by hand; `topics` shows what is subscribed."""

    def __init__(self) -> None:
        self.listeners: list[tuple[str | None, Callable[[Notice], None]]] = []

    @property
    def topics(self) -> list[str | None]:
        return [topic for topic, _ in self.listeners]

    async def subscribe(self, on_notice: Callable[[Notice], None], pool: str | None = None) -> FakeSubscription:
        entry = (pool, on_notice)
        self.listeners.append(entry)
        return FakeSubscription(self, entry)

    async def publish(self, notice: Notice) -> None:
        for topic, listener in list(self.listeners):
            if topic is None or topic == notice.pool:
                listener(notice)


class FakeSubscription:
    def __init__(self, feed: FakeFeed, entry: tuple[str | None, Callable[[Notice], None]]) -> None:
        self._feed = feed
        self._entry = entry

    async def unsubscribe(self) -> None:
        self._feed.listeners.remove(self._entry)


class FakeAccess:
    """Access as the fake node has it; `questions` counts how often it was asked."""

    def __init__(self, node: FakeNode) -> None:
        self.node = node
        self.questions = 0
        self.dead: set[Credential] = set()

    async def live(self, credentials: AbstractSet[Credential]) -> AbstractSet[Credential]:
        return {credential for credential in credentials if credential not in self.dead}

    async def readers(self, pool: str, agents: AbstractSet[str]) -> AbstractSet[str]:
        self.questions += 1
        if (owner := owner_of(pool)) is not None:
            return agents & {owner}
        return agents & self.node.members.get(pool, set())


@pytest.fixture
def node() -> FakeNode:
    return FakeNode({"shared/team": {"alice", "bob"}})


@pytest.fixture
def feed(node: FakeNode) -> FakeFeed:
    feed = FakeFeed()
    node.told = feed.publish
    return feed


@pytest.fixture
def access(node: FakeNode) -> FakeAccess:
    return FakeAccess(node)


@pytest_asyncio.fixture
async def hub(no_leaked_tasks: None, node: FakeNode, feed: FakeFeed, access: FakeAccess) -> AsyncIterator[Hub]:
    async with Hub(feed, access, Node(node)) as hub:
        yield hub


@pytest.fixture
def alice(node: FakeNode, hub: Hub) -> MemoryServer:
    """The server as alice meets it."""
    return build_server(Node(node), hub, lambda: "alice")


@pytest.fixture
def bob(node: FakeNode, hub: Hub) -> MemoryServer:
    """The server as bob meets it."""
    return build_server(Node(node), hub, lambda: "bob")
