"""Notices on a real server: live, from the stream, and waiting for the next."""

from __future__ import annotations

import asyncio
import time

import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext

from afterwit.bus import names
from afterwit.bus.notices import Notices
from afterwit.schemas import Invalid, Notice
from afterwit.schemas.uris import memory_uri
from tests.engines.nats_server import NatsServer
from tests.engines.waiting import wait_until
from tests.samples import NOON, new_id


def notice(pool: str = "shared/ops", seq: int = 1) -> Notice:
    id = new_id()
    return Notice(
        uri=memory_uri(pool, id),
        pool=pool,
        tier="episodic",
        id=id,
        version=1,
        seq=seq,
        change="created",
        actor="alice",
        at=NOON,
    )


async def test_subscribers_hear_their_pool_or_all(nc: Client, js: JetStreamContext) -> None:
    notices = Notices(nc, js)
    ops: list[Notice] = []
    everything: list[Notice] = []
    subscriptions = [await notices.subscribe(ops.append, "shared/ops"), await notices.subscribe(everything.append)]
    sent = [notice("shared/ops", 1), notice("agent/bob", 2), notice("shared/ops", 3)]
    await notices.publish(sent)
    await wait_until(lambda: len(everything) == 3, description="all notices are heard")
    assert everything == sent
    await wait_until(lambda: ops == [sent[0], sent[2]], description="those of the pool are heard")
    for subscription in subscriptions:
        await subscription.unsubscribe()


@pytest.mark.parametrize("replicas", [1, 3])
async def test_pages_hold_only_the_asked_pools_and_end_with_an_empty_one(
    nc: Client, js: JetStreamContext, replicas: int
) -> None:
    notices = Notices(nc, js, replicas=replicas)
    sent = [notice(f"shared/p{n % 5}", n) for n in range(1000)]
    await notices.publish(sent)
    for pools in (["shared/p1"], ["shared/p1", "shared/p3", "shared/none"], [f"shared/p{n}" for n in range(5)]):
        cursor, seen = None, []
        while True:
            page, cursor = await notices.since(pools, cursor, 64, 0)
            if not page:
                break
            assert len(page) <= 64
            seen += page
        assert seen == [n for n in sent if n.pool in pools]
        assert await notices.since(pools, cursor, 64, 0) == ([], cursor)
        later = notice(pools[0], 2000)
        await notices.publish([later])
        assert (await notices.since(pools, cursor, 64, 0))[0] == [later]
        sent.append(later)
    assert await notices.since([], None, 10, 0) == ([], "0")


async def test_the_cursor_passes_over_other_pools_notices(nc: Client, js: JetStreamContext) -> None:
    notices = Notices(nc, js)
    await notices.publish([notice("shared/busy") for _ in range(50)])
    page, cursor = await notices.since(["shared/a", "shared/b"], None, 10, 0)
    assert (page, cursor) == ([], "50")


@pytest.mark.parametrize("pools", [["shared/ops"], ["shared/ops", "agent/bob"]])
async def test_waiting_ends_as_soon_as_something_comes(nc: Client, js: JetStreamContext, pools: list[str]) -> None:
    notices = Notices(nc, js)
    subscriptions = len(nc._subs)
    _, cursor = await notices.since(pools, None, 10, 0)
    waiting = asyncio.create_task(notices.since(pools, cursor, 10, 90_000))
    await wait_until(lambda: len(nc._subs) > subscriptions, description="it waits")
    other, awaited = notice("shared/other"), notice("shared/ops")
    await notices.publish([other])
    assert not waiting.done()
    begun = time.monotonic()
    await notices.publish([awaited])
    page, _ = await waiting
    assert page == [awaited]
    assert time.monotonic() - begun < 45, "it waited for its time and not for the notice"
    info = await js.stream_info(names.CHANGES)
    assert info.state.consumer_count == 0


async def test_waiting_in_vain_ends_with_an_empty_page(nc: Client, js: JetStreamContext) -> None:
    begun = time.monotonic()
    assert await Notices(nc, js).since(["shared/ops"], None, 10, 200) == ([], "0")
    assert time.monotonic() - begun >= 0.2


async def test_a_long_poll_misses_nothing_whenever_it_comes(nc: Client, js: JetStreamContext) -> None:
    """A reader that only long-polls sees every notice of its pools, once and in order, while others publish."""
    notices = Notices(nc, js)
    sent: list[Notice] = []

    async def publisher() -> None:
        for n in range(100):
            batch = [notice(f"shared/p{n % 3}", n) for _ in range(3)]
            await notices.publish(batch)
            sent.extend(batch)

    publishing = asyncio.create_task(publisher())
    seen: list[Notice] = []
    cursor: str | None = None
    pools = ["shared/p0", "shared/p2"]
    while not publishing.done() or (page := (await notices.since(pools, cursor, 7, 0))[0]):
        page, cursor = await notices.since(pools, cursor, 7, 100)
        seen += page
    await publishing
    assert seen == [n for n in sent if n.pool in pools]


@pytest.mark.parametrize("cursor", ["", "-1", "x", "1.5", "٣", "9" * 40, " 1", "0x10"])
async def test_a_cursor_that_is_none_of_ours_is_invalid(nc: Client, js: JetStreamContext, cursor: str) -> None:
    with pytest.raises(Invalid) as caught:
        await Notices(nc, js).since(["shared/ops"], cursor, 10, 0)
    assert caught.value.detail["field"] == "cursor"


async def test_notices_published_while_the_server_restarts_are_kept(
    nats_server: NatsServer, nc: Client, js: JetStreamContext
) -> None:
    notices = Notices(nc, js)
    heard: list[Notice] = []
    subscription = await notices.subscribe(heard.append, "shared/ops")
    await asyncio.to_thread(nats_server.kill)
    sent = notice("shared/ops")
    publishing = asyncio.create_task(notices.publish([sent]))
    await asyncio.to_thread(nats_server.start)
    await publishing
    page, _ = await notices.since(["shared/ops"], None, 10, 30_000)
    assert page[0] == sent
    await wait_until(lambda: sent in heard, description="the subscriber hears after the restart")
    await subscription.unsubscribe()
