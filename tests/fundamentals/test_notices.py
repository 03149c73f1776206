"""Whoever may read a pool can be told when it changes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp.shared.subscriptions import ResourceUpdated

from tests.engines.agents import Agent, mcp_client
from tests.engines.system import System


async def test_a_notice_says_what_changed_and_never_what_it_says(alice: Agent) -> None:
    """Over NATS it comes on the pool's subjects."""
    notices = await alice.nc.subscribe("afterwit.v1.changed.agent.alice.>")
    await alice.nc.flush()
    memory = await alice.store("The password of the guest network has changed.")
    notice = json.loads((await notices.next_msg(timeout=30)).data)
    assert (notice["uri"], notice["change"], notice["version"], notice["actor"]) == (
        memory["uri"],
        "created",
        1,
        "alice",
    )
    assert "content" not in notice


async def test_who_reads_on_being_told_sees_that_version(alice: Agent) -> None:
    """A notice never comes before the version can be found."""
    notices = await alice.nc.subscribe("afterwit.v1.changed.agent.alice.>")
    await alice.nc.flush()
    storing = asyncio.create_task(alice.store("The north pier is closed.", tags=["pier"]))
    notice = json.loads((await notices.next_msg(timeout=30)).data)
    found = await alice.retrieve("Which pier is closed?", pools=[alice.pool], tags=["pier"])
    assert notice["id"] in [memory["id"] for memory in found]
    await storing


async def test_a_client_of_today_listens_to_a_resource(alice: Agent, bob: Agent, pool: str) -> None:
    """In the protocol of 2026-07-28: a stream of events about the URIs that one names."""
    await alice.ask("pool_grant", pool=pool, agent="bob", role="reader")
    uri = f"memory://{pool}"
    async with bob.mcp.listen(resource_subscriptions=[uri]) as events:
        await alice.store("The bridge is open again.", pool=pool)
        async with asyncio.timeout(30):
            assert await anext(aiter(events)) == ResourceUpdated(uri)


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")  # in the era that this is about, it is there
async def test_a_client_of_yesterday_subscribes_to_a_resource(alice: Agent, pool: str, afterwit: System) -> None:
    """In the handshake protocol: `resources/subscribe`, and notifications on the session's stream."""
    told: asyncio.Queue[str] = asyncio.Queue()

    async def on_message(message: Any) -> None:
        if getattr(message, "method", None) == "notifications/resources/updated":
            told.put_nowait(message.params.uri)

    memory = await alice.store("The tunnel is closed.", pool=pool)
    async with mcp_client(afterwit, alice.token, mode="legacy", message_handler=on_message) as client:
        await client.subscribe_resource(memory["uri"])
        await alice.tool("memory_update", id=memory["id"], expected_version=1, content="The tunnel is open.")
        async with asyncio.timeout(30):
            assert await told.get() == memory["uri"]


async def test_a_client_that_was_away_catches_up(alice: Agent, pool: str) -> None:
    """`memory_changes` gives what was missed, with a cursor to go on from; an empty page is the end."""
    one = await alice.store("The lock is broken.", pool=pool)
    page = await alice.tool("memory_changes", pools=[pool], wait_ms=20_000)
    assert [(notice["id"], notice["change"]) for notice in page["notices"]] == [(one["id"], "created")]
    await alice.tool("memory_forget", ids=[one["id"]], reason="repaired")
    page = await alice.tool("memory_changes", pools=[pool], cursor=page["cursor"], wait_ms=20_000)
    assert [(notice["id"], notice["change"]) for notice in page["notices"]] == [(one["id"], "archived")]
    assert (await alice.tool("memory_changes", pools=[pool], cursor=page["cursor"]))["notices"] == []


async def test_a_client_can_wait_for_the_next_change(alice: Agent, pool: str) -> None:
    """`wait_ms` answers as soon as there is something."""
    cursor = (await alice.tool("memory_changes", pools=[pool]))["cursor"]
    waiting = asyncio.create_task(alice.tool("memory_changes", pools=[pool], cursor=cursor, wait_ms=20_000))
    memory = await alice.ask("store", content="The lock is repaired.", pool=pool)
    assert [notice["id"] for notice in (await waiting)["notices"]] == [memory["memory"]["id"]]


async def test_notices_of_pools_that_one_may_not_read_do_not_come(alice: Agent, bob: Agent, pool: str) -> None:
    """Neither live nor afterwards."""
    await alice.store("Not for bob.", pool=pool)
    seen = {notice["pool"] for notice in (await bob.tool("memory_changes", limit=1000))["notices"]}
    assert not seen & {pool, alice.pool}
    subscription = await bob.nc.subscribe(f"afterwit.v1.changed.{pool.replace('/', '.')}.>")
    await bob.nc.flush()
    await alice.store("Not for bob either.", pool=pool)
    with pytest.raises(TimeoutError):
        await subscription.next_msg(timeout=0.2)
    assert any("permissions violation" in error.lower() for error in bob.denied)
