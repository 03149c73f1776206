from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from mcp import Client
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceListChangedNotification, ResourceUpdatedNotification

from afterwit.bus.mcp.access import Credential
from afterwit.bus.mcp.hub import Hub
from afterwit.bus.mcp.server import MemoryServer
from afterwit.bus.mcp.watcher import Watcher
from afterwit.schemas import Store, Unavailable, Update
from tests.engines.fake_node import FakeNode
from tests.engines.waiting import wait_until

from .conftest import FakeAccess, FakeFeed

SOME_ID = "0190f5fe-0000-7000-8000-000000000000"


@contextmanager
def old_protocol() -> Iterator[None]:
    """The SDK warns about `resources/subscribe`, which is what is tried here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Inbox:
    """What a handshake client is told."""

    def __init__(self) -> None:
        self.uris: list[str] = []
        self.lists = 0

    async def __call__(self, message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            self.uris.append(message.params.uri)
        elif isinstance(message, ResourceListChangedNotification):
            self.lists += 1


async def test_a_listen_stream_tells_of_memory_pool_session_and_list(alice: MemoryServer, node: FakeNode) -> None:
    first = (await node.store("alice", Store(content="one", session_id="s1"))).memory
    watched = [
        first.uri,
        first.uri + "/history",
        "memory://agent/alice",
        "memory://pools",
        "memory://agent/alice/session/s1",
    ]
    async with Client(alice, mode="auto") as client:
        assert client.server_capabilities.resources is not None
        assert client.server_capabilities.resources.subscribe
        assert client.server_capabilities.resources.list_changed
        async with client.listen(resources_list_changed=True, resource_subscriptions=watched) as events:
            await node.update("alice", Update(id=first.id, expected_version=1, content="two"))
            told = {await anext(events) for _ in watched}
            assert told == {ResourceUpdated(uri=uri) for uri in watched}
            await node.store("alice", Store(content="three"))
            assert {await anext(events) for _ in range(3)} == {
                ResourceUpdated(uri="memory://agent/alice"),
                ResourceUpdated(uri="memory://pools"),
                ResourcesListChanged(),
            }


async def test_a_handshake_session_is_told_the_same(alice: MemoryServer, node: FakeNode) -> None:
    first = (await node.store("alice", Store(content="one", session_id="s1"))).memory
    inbox = Inbox()
    with old_protocol():
        async with Client(alice, mode="legacy", message_handler=inbox) as client:
            assert client.server_capabilities.resources is not None
            assert client.server_capabilities.resources.subscribe
            assert client.server_capabilities.resources.list_changed
            watched = {first.uri, "memory://agent/alice", "memory://agent/alice/session/s1"}
            for uri in watched:
                await client.subscribe_resource(uri)
            await node.update("alice", Update(id=first.id, expected_version=1, content="two"))
            await wait_until(lambda: set(inbox.uris) == watched, description="all three are told")
            assert inbox.lists == 0
            for uri in watched:
                await client.unsubscribe_resource(uri)
                await client.unsubscribe_resource(uri)
            await node.store("alice", Store(content="three"))
            await wait_until(lambda: inbox.lists == 1, description="the list has changed")
            assert len(inbox.uris) == 3


async def test_an_entitys_page_is_told_by_what_names_it(hub: Hub, node: FakeNode) -> None:
    watcher, page = Watcher("alice"), "memory://shared/team/entity/Ilse%20Okoro"
    async with hub.watching(watcher, [page]):
        await node.store("bob", Store(content="nothing", pool="shared/team"))
        await node.store("alice", Store(content="Ilse Okoro rang", pool="agent/alice"))
        memory = (await node.store("bob", Store(content="the ILSE-OKORO file", pool="shared/team"))).memory
        told = aiter(watcher)
        assert await anext(told) == ResourceUpdated(uri=page)
        asked = [request for _, op, request, _ in node.calls if op == "get"]
        assert len(asked) <= 2, "of the other pool nothing is read"
        await node.update("bob", Update(id=memory.id, expected_version=1, content="the other file"))
        assert await anext(told) == ResourceUpdated(uri=page), "it ceased to name it"
        node.members["shared/team"].discard("alice")
        await hub.look_again("alice")
        assert [event async for event in told] == []


async def test_the_subscription_ends_with_the_last_watcher(alice: MemoryServer, hub: Hub, feed: FakeFeed) -> None:
    async with Client(alice, mode="2026-07-28") as client:
        async with (
            client.listen(resource_subscriptions=["memory://shared/team"]),
            client.listen(resource_subscriptions=["memory://shared/team", "memory://agent/alice"]),
        ):
            assert sorted(map(str, feed.topics)) == ["agent/alice", "shared/team"]
        await wait_until(lambda: not feed.topics, description="nothing is subscribed")
    with old_protocol():
        async with Client(alice, mode="legacy") as client:
            await client.subscribe_resource("memory://shared/team")
            await wait_until(lambda: None in feed.topics, description="the session hears of every list change")
    await wait_until(lambda: not feed.topics and not hub.watchers, description="nothing is subscribed")


async def test_what_is_hidden_cannot_be_watched(alice: MemoryServer, node: FakeNode, feed: FakeFeed) -> None:
    node.members["shared/secret"] = {"bob"}
    secret = (await node.store("bob", Store(content="hush", pool="shared/secret"))).memory
    hidden = [
        "memory://shared/secret",
        secret.uri,
        "memory://agent/bob/session/s1",
        f"memory://agent/alice/{SOME_ID}",
        "x:y",
    ]
    with old_protocol():
        async with Client(alice, mode="2026-07-28") as new, Client(alice, mode="legacy") as old:
            for uri in hidden:
                with pytest.raises(MCPError, match=f"resource not found: {uri}"):
                    async with new.listen(resource_subscriptions=["memory://pools", uri]):
                        pass
                with pytest.raises(MCPError, match=f"resource not found: {uri}"):
                    await old.subscribe_resource(uri)
    await wait_until(lambda: not feed.topics, description="nothing is subscribed")


async def test_access_is_asked_again_for_every_event(alice: MemoryServer, bob: MemoryServer, node: FakeNode) -> None:
    async with (
        Client(alice, mode="2026-07-28") as one,
        Client(bob, mode="2026-07-28") as two,
        one.listen(resource_subscriptions=["memory://shared/team", "memory://agent/alice"]) as alices,
        two.listen(resource_subscriptions=["memory://shared/team"]) as bobs,
    ):
        node.members["shared/team"].discard("alice")
        await node.store("bob", Store(content="not for alice", pool="shared/team"))
        assert await anext(bobs) == ResourceUpdated(uri="memory://shared/team")
        await node.store("alice", Store(content="alice's own"))
        assert await anext(alices) == ResourceUpdated(uri="memory://agent/alice")


async def test_a_burst_costs_one_question_and_one_event(hub: Hub, node: FakeNode, access: FakeAccess) -> None:
    watcher = Watcher("alice")
    async with hub.watching(watcher, ["memory://shared/team"]):
        before = access.questions
        for n in range(100):
            await node.store("bob", Store(content=str(n), pool="shared/team"))
        event = await anext(aiter(watcher))
        assert event == ResourceUpdated(uri="memory://shared/team")
        assert access.questions == before + 1


async def test_revocation_ends_the_streams_that_it_concerns(alice: MemoryServer, hub: Hub, node: FakeNode) -> None:
    async with (
        Client(alice, mode="2026-07-28") as client,
        client.listen(resource_subscriptions=["memory://shared/team"]) as team,
        client.listen(resource_subscriptions=["memory://agent/alice"], resources_list_changed=True) as own,
    ):
        assert await hub.look_again("alice") == 0
        assert await anext(own) == ResourcesListChanged()
        node.members["shared/team"].discard("alice")
        assert await hub.look_again("bob") == 0
        assert await hub.look_again("alice") == 1
        with pytest.raises(StopAsyncIteration):
            await anext(team)
        assert await anext(own) == ResourcesListChanged()
        await wait_until(lambda: hub.watchers == 1, description="the other stream goes on")


async def test_a_handshake_session_goes_on_without_what_was_taken(
    alice: MemoryServer, hub: Hub, node: FakeNode, feed: FakeFeed
) -> None:
    inbox = Inbox()
    with old_protocol():
        async with Client(alice, mode="legacy", message_handler=inbox) as client:
            await client.subscribe_resource("memory://shared/team")
            await client.subscribe_resource("memory://agent/alice")
            node.members["shared/team"].discard("alice")
            assert await hub.look_again("alice") == 0
            await wait_until(lambda: inbox.lists == 1, description="it learns that its pools have changed")
            assert "shared/team" not in feed.topics
            await node.store("bob", Store(content="x", pool="shared/team"))
            await node.store("alice", Store(content="y"))
            await wait_until(lambda: inbox.uris, description="its own pool is told")
            assert inbox.uris == ["memory://agent/alice"]
            node.members["shared/team"].add("alice")
            await client.subscribe_resource("memory://shared/team")
            await node.store("bob", Store(content="z", pool="shared/team"))
            await wait_until(lambda: len(inbox.uris) == 2, description="what was given back is told again")


async def test_nothing_reaches_a_token_that_has_ended(hub: Hub, node: FakeNode, access: FakeAccess) -> None:
    old, new = Credential("alice", "old"), Credential("alice", "new")
    ends, stays = (Watcher("alice", credential=lambda c=c: c) for c in (old, new))  # type: ignore[misc]  # mypy's lambdas
    async with hub.watching(ends, ["memory://agent/alice"]), hub.watching(stays, ["memory://agent/alice"]):
        access.dead.add(old)
        await node.store("alice", Store(content="x"))
        assert await anext(aiter(stays)) == ResourceUpdated(uri="memory://agent/alice")
        assert await hub.look_again("alice") == 1
        assert [event async for event in ends] == []
        assert not stays.closed


async def test_after_a_gap_everything_is_to_be_read_again(hub: Hub, node: FakeNode) -> None:
    alices, bobs = Watcher("alice", lists=True), Watcher("bob")
    async with (
        hub.watching(alices, ["memory://shared/team", "memory://pools"]),
        hub.watching(bobs, ["memory://shared/team"]),
    ):
        node.members["shared/team"].discard("bob")
        await hub.announce_gap()
        alices.close()
        bobs.close()
        assert {event async for event in alices} == {
            ResourceUpdated(uri="memory://shared/team"), ResourceUpdated(uri="memory://pools"), ResourcesListChanged(),
        }  # fmt: skip
        assert [event async for event in bobs] == []


async def test_a_gap_is_told_of_once_access_can_be_read_again(hub: Hub, access: FakeAccess) -> None:
    """A server that has just come back may go once more: that ends no gateway."""
    watcher = Watcher("alice")
    async with hub.watching(watcher, ["memory://shared/team"]):
        answer, tried = access.live, asyncio.Event()

        async def fails(credentials: Any) -> Any:
            tried.set()
            raise Unavailable("NATS is away")

        access.live = fails  # type: ignore[method-assign]
        hub.spawn(hub.announce_gap())
        await tried.wait()
        access.live = answer  # type: ignore[method-assign]
        assert await anext(aiter(watcher)) == ResourceUpdated(uri="memory://shared/team")


async def test_a_notice_waits_while_access_cannot_be_read(hub: Hub, node: FakeNode, access: FakeAccess) -> None:
    watcher = Watcher("alice")
    async with hub.watching(watcher, ["memory://shared/team"]):
        answer, tried = access.readers, asyncio.Event()

        async def fails(pool: str, agents: Any) -> Any:
            tried.set()
            raise Unavailable("NATS is away")

        access.readers = fails  # type: ignore[method-assign]
        await node.store("bob", Store(content="x", pool="shared/team"))
        await tried.wait()
        access.readers = answer  # type: ignore[method-assign]
        assert await anext(aiter(watcher)) == ResourceUpdated(uri="memory://shared/team")
