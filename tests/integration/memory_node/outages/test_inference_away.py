"""With inference away, memories are found by their words; when it returns, by their meaning as well."""

from __future__ import annotations

from msgspec.structs import replace
from nats.aio.client import Client

from afterwit.bus.log import Log
from afterwit.bus.notices import Notices
from afterwit.schemas import Get, History, Memory, Update
from tests.engines.waiting import wait_until

from .conftest import Bus, serving


async def semantic(bus: Bus, query: str, memory: Memory) -> float:
    """How near the memory is by meaning; 0 where it has no vector, or is not found."""
    reply = await bus.retrieve(query)
    return next((item.signals["semantic"] for item in reply.items if item.memory.id == memory.id), 0.0)


async def filled(bus: Bus, query: str, memory: Memory) -> None:
    async def has_vector() -> bool:
        return await semantic(bus, query, memory) > 0

    await wait_until(has_vector, description=f"{memory.content} is filled in")


async def test_found_by_words_meanwhile_and_filled_in_later(bus: Bus, nc: Client) -> None:
    bus.embedder.away = True
    memory = await bus.store("The gate is shut.")
    assert memory.seq is not None
    reply = await bus.retrieve("gate")
    assert [item.memory.id for item in reply.items] == [memory.id]
    assert reply.degraded == ("inference",)
    assert reply.items[0].signals["semantic"] == 0
    bus.embedder.away = False
    await filled(bus, "The gate is shut.", memory)
    assert (await bus.retrieve("gate")).degraded == ()


async def test_filling_in_is_no_new_version_and_tells_nobody(bus: Bus, nc: Client) -> None:
    bus.embedder.away = True
    memory = await bus.store("The gate is shut.")
    bus.embedder.away = False
    await filled(bus, "The gate is shut.", memory)
    now = (await bus.ask("get", Get(id=memory.id))).memory
    assert replace(now, seq=None) == replace(memory, seq=None)
    assert [v.version for v in (await bus.ask("history", History(id=memory.id))).versions] == [1]
    notices, _ = await Notices(nc, nc.jetstream()).since([memory.pool], None, 100, 0)
    assert [notice.version for notice in notices] == [1]
    updated = await bus.ask("update", Update(id=memory.id, expected_version=1, content="The gate is open."))
    assert updated.memory.version == 2


async def test_a_rebuild_embeds_nothing_again(bus: Bus, nc: Client) -> None:
    bus.embedder.away = True
    memory = await bus.store("The gate is shut.")
    bus.embedder.away = False
    await filled(bus, "The gate is shut.", memory)
    record = await Log(nc).latest(memory.id)
    assert record is not None
    assert record.entry.embedding is not None
    bus.embedder.passages.clear()
    bus.settings = replace(bus.settings, data_dir=bus.settings.data_dir / "elsewhere")
    bus.agent = "alice"
    async with serving(bus):  # a second node, whose index is filled from the log
        pass
    assert not [text for text in bus.embedder.passages if text == "The gate is shut."]


async def test_what_was_changed_meanwhile_is_left_as_it_is(bus: Bus) -> None:
    bus.embedder.away = True
    memory = await bus.store("The gate is shut.")
    await bus.ask("update", Update(id=memory.id, expected_version=1, content="The lock is open."))
    bus.embedder.away = False
    await filled(bus, "The lock is open.", memory)
    assert (await bus.ask("get", Get(id=memory.id))).memory.content == "The lock is open."


async def test_a_text_that_is_refused_holds_up_no_other(bus: Bus) -> None:
    poison = await bus.store("This is poison.")
    bus.embedder.away = True
    others = [await bus.store(f"Silo {n} is empty.") for n in range(3)]
    bus.embedder.away = False
    for other in others:
        await filled(bus, other.content, other)
    assert [item.memory.id for item in (await bus.retrieve("poison")).items] == [poison.id]
