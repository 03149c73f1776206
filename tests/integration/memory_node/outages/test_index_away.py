"""With the index away, writes are taken, the newest are found by their words, and everything is found on its return."""

from __future__ import annotations

import asyncio
import time

import pytest

from afterwit.schemas import Get, NotFound, Update
from tests.engines.waiting import wait_until

from .conftest import Bus

SOON_S = 15.0
"""A store without an index waits a second, one that finds out about it `visible_within_s`.

Beside that, a machine may stand still."""


@pytest.fixture
def visible_within_s() -> float:
    return 3.0


async def test_a_store_is_answered_soon_and_without_a_promise(bus: Bus) -> None:
    await bus.store("The crane is oiled.")
    bus.index_away = True
    begun = time.monotonic()
    memory = await bus.store("The gate is shut.")
    assert memory.seq is None
    assert (await bus.ask("get", Get(id=memory.id))).memory.content == "The gate is shut."
    again = time.monotonic()
    await bus.store("The pump is off.")
    assert time.monotonic() - again < SOON_S
    assert again - begun < SOON_S


async def test_a_repeated_store_is_the_same_memory(bus: Bus) -> None:
    bus.index_away = True
    first = await bus.store("The gate is shut.", idempotency_key="k")
    assert (await bus.store("The gate is shut.", idempotency_key="k")).id == first.id


async def test_what_was_written_last_is_found_by_its_words(bus: Bus) -> None:
    before = await bus.store("The crane is oiled.", tags=("crane",))
    bus.index_away = True
    memory = await bus.store("The gate is shut.", tags=("gate",))
    reply = await bus.retrieve("Is the gate shut?")
    assert [item.memory.id for item in reply.items][:1] == [memory.id]
    assert "index" in reply.degraded
    assert [item.memory.id for item in (await bus.retrieve("crane")).items] == [before.id]
    assert [item.memory.id for item in (await bus.retrieve("is", tags=("crane",))).items] in ([before.id], [])


async def test_only_the_newest_version_and_only_the_callers_pools(bus: Bus) -> None:
    memory = await bus.store("The gate is shut.")
    bus.index_away = True
    await bus.ask("update", Update(id=memory.id, expected_version=1, content="The lock is open."))
    assert not (await bus.retrieve("gate shut")).items
    assert [item.memory.version for item in (await bus.retrieve("lock")).items] == [2]
    bus.agent = "bob"
    assert not (await bus.retrieve("lock")).items


async def test_everything_is_found_when_it_returns(bus: Bus) -> None:
    bus.index_away = True
    memories = [await bus.store(f"Silo {n} is empty.", ack="accepted") for n in range(20)]

    async def in_the_log() -> bool:
        try:
            await bus.ask("get", Get(id=memories[-1].id))
        except NotFound:
            return False
        return True

    await wait_until(in_the_log, description="what was accepted is in the log")
    bus.index_away = False

    async def all_found() -> bool:
        reply = await bus.retrieve("silo", top_k=50)
        return not reply.degraded and {item.memory.id for item in reply.items} == {m.id for m in memories}

    await wait_until(all_found, description="everything is found")


@pytest.mark.parametrize("writers", [40])
async def test_writers_side_by_side_do_not_wait_for_each_other(bus: Bus, writers: int) -> None:
    bus.index_away = True
    await bus.store("The first one finds out.")
    begun = time.monotonic()
    await asyncio.gather(*(bus.store(f"Silo {n} is empty.") for n in range(writers)))
    assert time.monotonic() - begun < SOON_S
