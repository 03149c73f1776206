"""With NATS away, requests fail in time and in words, and all comes back by itself; what is too large is told so."""

from __future__ import annotations

import time

import pytest

from afterwit.schemas import StoreMany, TimedOut, TooLarge, Unavailable
from tests.engines.nats_server import NatsServer
from tests.engines.waiting import wait_until

from .conftest import Bus

BOUNDED_S = 30.0


async def stored(bus: Bus) -> bool:
    try:
        return (await bus.store("The gate is shut.")).seq is not None
    except (Unavailable, TimedOut):
        return False


async def test_requests_fail_in_time_and_all_comes_back(bus: Bus, nats_server: NatsServer) -> None:
    before = await bus.store("The crane is oiled.")
    nats_server.kill()
    begun = time.monotonic()
    with pytest.raises((Unavailable, TimedOut)):
        await bus.store("The gate is shut.")
    assert time.monotonic() - begun < BOUNDED_S
    nats_server.start()

    async def serves() -> bool:
        return await stored(bus)

    await wait_until(serves, description="the node serves again")
    found = [item.memory.id for item in (await bus.retrieve("crane")).items]
    assert before.id in found


async def test_what_no_message_can_hold_is_too_large(bus: Bus) -> None:
    items = tuple({"content": f"Log {n}", "data": {"log": "x" * 200_000}} for n in range(10))
    with pytest.raises(TooLarge):
        await bus.ask("store_many", StoreMany(items=items))
    assert (await bus.store("The gate is shut.")).seq is not None
