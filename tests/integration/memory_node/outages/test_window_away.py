"""With Valkey away, slow or full, sessions are written and read all the same."""

from __future__ import annotations

import os
import signal

from redis.asyncio import Redis

from afterwit.schemas import Context, Memory
from tests.engines.waiting import wait_until

from .conftest import Bus


async def turns(bus: Bus, session: str) -> list[Memory]:
    return list((await bus.ask("context", Context(session_id=session))).turns)


async def test_a_valkey_that_hangs_is_waited_for_in_bounds(bus: Bus) -> None:
    """In those of `Bus.ask`: it would never answer."""
    first = await bus.store("The pump runs hot.", session_id="s", turn=1)
    assert await turns(bus, "s") == [first]
    async with Redis.from_url(bus.settings.redis_url) as redis:
        pid: int = (await redis.info("server"))["process_id"]
    os.kill(pid, signal.SIGSTOP)
    try:
        second = await bus.store("The pump was switched off.", session_id="s", turn=2)

        async def both() -> bool:
            return [memory.id for memory in await turns(bus, "s")] == [first.id, second.id]

        await wait_until(both, description="the context comes from the index")
    finally:
        os.kill(pid, signal.SIGCONT)
    await wait_until(both, description="the window has missed nothing")


async def test_a_full_valkey_holds_up_nothing(bus: Bus) -> None:
    redis = Redis.from_url(bus.settings.redis_url)
    try:
        await redis.config_set("maxmemory", "1mb")
        await redis.config_set("maxmemory-policy", "noeviction")
        stored = [await bus.store(f"Step {n}", session_id="s", turn=n, data={"raw": "x" * 50_000}) for n in (1, 2, 3)]
        assert [memory.id for memory in await turns(bus, "s")] == [memory.id for memory in stored]
    finally:
        await redis.aclose()
