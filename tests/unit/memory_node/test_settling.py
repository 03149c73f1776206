"""Conflicts of what was imported are looked for afterwards: of all of it, and in the background."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from afterwit.memory_node import settling as settling_room
from afterwit.memory_node.giving_way import Background, Way
from afterwit.memory_node.settling import Settling
from afterwit.schemas import Memory, Unavailable
from tests.engines.waiting import wait_until
from tests.samples import memory


class Settled:
    """Who was settled, in order; ``refuse`` says whose turn fails."""

    def __init__(self, refuse: Exception | None = None) -> None:
        self.contents: list[str] = []
        self._refuse = refuse

    async def __call__(self, one: Memory) -> None:
        self.contents.append(one.content)
        if self._refuse is not None and one.content == "bad":
            raise self._refuse


@asynccontextmanager
async def running(settling: Settling) -> AsyncIterator[None]:
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(settling.run(stop))
        yield
        stop.set()


async def test_knowledge_is_settled_and_nothing_else() -> None:
    settled = Settled()
    settling = Settling(settled, Background(Way()))
    await settling.take(memory("a note", seq=1))
    await settling.take(memory("not in the log", kind="fact"))
    await settling.take(memory("a fact", kind="fact", seq=2))
    async with running(settling):
        await wait_until(lambda: bool(settled.contents), description="something is settled")
    assert settled.contents == ["a fact"]


async def test_it_gives_way_to_requests() -> None:
    settled, way = Settled(), Way()
    settling = Settling(settled, Background(way))
    await settling.take(memory("a fact", kind="fact", seq=1))
    async with running(settling):
        with way.serving():
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not settled.contents
        await wait_until(lambda: bool(settled.contents), description="it is settled")


async def test_it_gives_way_to_an_import_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    settled = Settled()
    settling = Settling(settled, Background(Way()))
    for number in range(2):
        await settling.take(memory(f"fact {number}", kind="fact", seq=1))
    async with running(settling):
        with settling.importing():
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not settled.contents
        await wait_until(lambda: len(settled.contents) == 2, description="both are settled")
        monkeypatch.setattr(settling_room, "_LONGEST_S", 0.01)
        with settling.importing():
            await settling.take(memory("fact 2", kind="fact", seq=1))
            await wait_until(lambda: len(settled.contents) == 3, description="the third is, beside the import")


async def test_an_import_whose_next_items_come_soon_has_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling_room, "_PAUSE_S", 0.02)
    monkeypatch.setattr(settling_room, "_LONGEST_S", 3600.0)
    settled = Settled()
    settling = Settling(settled, Background(Way()))
    await settling.take(memory("a fact", kind="fact", seq=1))
    async with running(settling):
        with settling.importing():
            await asyncio.sleep(0)
        with settling.importing():
            await asyncio.sleep(0.06)
            assert not settled.contents
        await wait_until(lambda: bool(settled.contents), description="it is settled")


async def test_when_half_of_what_may_wait_does_both_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling_room, "_LONGEST_S", 3600.0)
    settled = Settled()
    settling = Settling(settled, Background(Way()), most=20)
    with settling.importing():
        for number in range(20):
            await settling.take(memory(f"fact {number}", kind="fact", seq=1))
        async with running(settling):
            await wait_until(lambda: len(settled.contents) >= 10, description="half of them are settled")
            assert len(settled.contents) <= 10


@pytest.mark.parametrize("error", [Unavailable("away"), RuntimeError("broken")])
async def test_one_that_fails_holds_up_none_behind_it(error: Exception) -> None:
    settled = Settled(error)
    settling = Settling(settled, Background(Way()))
    for content in ("bad", "good"):
        await settling.take(memory(content, kind="fact", seq=1))
    async with running(settling):
        await wait_until(lambda: len(settled.contents) == 2, description="both had their turn")


async def test_an_import_that_waits_does_not_hold_up_the_end() -> None:
    async def for_ever(one: Memory) -> None:
        await asyncio.Event().wait()

    settling = Settling(for_ever, Background(Way()), most=2)
    async with running(settling):
        many = asyncio.gather(*(settling.take(memory(f"fact {n}", kind="fact", seq=1)) for n in range(9)))
        await asyncio.sleep(0)
        assert not many.done()
    async with asyncio.timeout(10):
        await many


async def test_an_import_waits_while_too_many_wait() -> None:
    settled = Settled()
    settling = Settling(settled, Background(Way()), most=2)
    with settling.importing():
        many = asyncio.gather(*(settling.take(memory(f"fact {n}", kind="fact", seq=1)) for n in range(5)))
        await asyncio.sleep(0)
        assert not many.done()
        async with running(settling):
            await many
            await wait_until(lambda: len(settled.contents) == 5, description="all are settled")
