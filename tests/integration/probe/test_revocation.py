"""G6, from the moment of revocation: what is open, what waits, and what is asked anew."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from mcp.client.subscriptions import ResourceUpdated

from tests.engines.waiting import wait_until
from tests.unit.bus.mcp.test_watching import old_protocol

from .conftest import World
from .doors import Visitor
from .probe import Probe
from .test_permissions import doors_of, nothing_found, ops_of, sentinel
from .world import gone, stir

pytestmark = pytest.mark.filterwarnings("ignore:.*StreamWriter.__del__:pytest.PytestUnraisableExceptionWarning")

LASTS_S = 2.0
WAIT_MS = 25_000


@pytest.mark.parametrize("how", ["revoked", "lapsed"])
async def test_nothing_of_the_pool_gets_through_any_more(world: World, how: str) -> None:
    """Streams and sessions in both eras, a NATS subscription, a waiting `changes`, and every question there is."""
    guest, owner = await world.visitor(f"{how}"), world.named.owner
    pool = f"shared/{world.markers.new('granted pool')}"
    uri, common = f"memory://{pool}", f"memory://{world.common}"
    world.markers.say(pool)
    await owner.ask("pool_create", pool=pool)
    granted = {"pool": pool, "agent": guest.agent, "role": "writer"}
    await owner.ask("pool_grant", **granted)
    await guest.reconnect(world.system)
    own = await world.own(guest)
    old, new = guest.mcp
    with old_protocol():
        await old.client.subscribe_resource(uri)
        await old.client.subscribe_resource(common)
    async with (
        new.client.listen(resource_subscriptions=[uri]) as concerned,
        new.client.listen(resource_subscriptions=["memory://pools", common]) as other,
    ):
        subscription = await guest.nc.subscribe(f"afterwit.v1.changed.{pool.replace('/', '.')}.>", cb=_taking(guest))
        await guest.nc.flush()
        memory = (await owner.ask("store", pool=pool, content="seen while it was granted"))["memory"]
        world.markers.say(memory["id"])
        assert await asyncio.wait_for(anext(concerned), 30) == ResourceUpdated(uri=uri)
        await wait_until(lambda: subscription.delivered, description="NATS tells of it while it is granted")
        page = json.loads(await new.ask("changes", {"pools": [pool]}))["structured_content"]
        waits = {"pools": [pool], "cursor": page["cursor"], "wait_ms": WAIT_MS}
        waiting = asyncio.create_task(new.ask("changes", waits))
        for _ in range(5):  # whose answers come after that question has got to where it waits
            await new.read("memory://pools")
        if how == "revoked":
            await owner.ask("pool_revoke", pool=pool, agent=guest.agent)
        else:
            until = datetime.now(UTC) + timedelta(seconds=LASTS_S)
            await owner.ask("pool_grant", **granted, until=until.isoformat())
        await gone(world.as_agent(guest), pool)
        before = len(guest.got)
        await stir(world.named, world.markers, pools=(pool,))
        if how == "revoked":
            with pytest.raises(StopAsyncIteration):
                await asyncio.wait_for(anext(concerned), 30)
        assert b"not_found" in await asyncio.wait_for(waiting, 30)
        await sentinel(world, guest, world.common)
        told: set[Any] = set()
        while ResourceUpdated(uri=common) not in told:
            told.add(await asyncio.wait_for(anext(other), 30))
        assert ResourceUpdated(uri=uri) not in told
        assert [where for where, data in guest.got[before:] if uri.encode() in data] == []
    probe = Probe(world.markers, own, replace(world.named.things, pool=pool, shared_id=memory["id"]))
    for door in doors_of(guest):
        for op in ops_of(door):
            await probe.ask(door, op)
    probe.judge_all(guest.got)
    nothing_found(probe)


def _taking(guest: Visitor) -> Callable[[Any], Awaitable[None]]:
    async def take(msg: Any) -> None:
        guest.hear(f"NATS, {msg.subject}", msg.data)

    return take
