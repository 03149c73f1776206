"""Work in the background gives way to requests, in short pieces, and is never starved. Time is a double."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from afterwit.memory_node import giving_way
from afterwit.memory_node.giving_way import BACKGROUND, PIECE_S, QUIET_S, SHARE, Background, Way
from afterwit.schemas import OPERATIONS
from tests.engines.waiting import wait_until


class Clock:
    """Work that takes time when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sizes(self, background: Background, items: int, item_s: float) -> list[int]:
        """The pieces in which so many items are done, each of which takes so long."""
        sizes = []
        async for piece in background.pieces(range(items)):
            self.now += item_s * len(piece)
            sizes.append(len(piece))
        return sizes


def asked() -> Way:
    """One that has just seen a request."""
    way = Way()
    with way.serving():
        return way


async def test_all_items_come_once_and_in_order() -> None:
    background = Background(Way(), clock=lambda: 0.0)
    pieces: list[Sequence[int]] = [piece async for piece in background.pieces(range(1000))]
    assert [item for piece in pieces for item in piece] == list(range(1000))


@pytest.mark.parametrize("item_s", [PIECE_S / 100, PIECE_S / 20, PIECE_S / 10])
async def test_a_piece_takes_what_it_may_however_long_an_item_takes(item_s: float) -> None:
    clock = Clock()
    sizes = await clock.sizes(Background(asked(), clock=clock), 5000, item_s)
    assert sizes[-2] * item_s == pytest.approx(PIECE_S, rel=0.3)


async def test_pieces_are_longer_once_nobody_has_asked_for_a_while() -> None:
    clock, work = Clock(), Clock()
    way = Way(clock)
    background = Background(way, clock=work)
    with way.serving():
        pass
    clock.now += QUIET_S / 2
    assert (await work.sizes(background, 5000, PIECE_S / 20))[-2] == pytest.approx(20, rel=0.3)
    clock.now += QUIET_S
    assert (await work.sizes(background, 5000, PIECE_S / 20))[-2] == pytest.approx(80, rel=0.3)
    with way.serving():
        assert way.piece_s == PIECE_S


async def test_pieces_side_by_side_share_the_time_that_they_took() -> None:
    clock, way = Clock(), asked()
    slow, one = Background(way, clock=clock), Background(way, clock=clock)
    async for _ in slow.pieces(range(1)):
        await clock.sizes(one, 1000, PIECE_S / 10)
    assert one.size == pytest.approx(20, abs=3)


async def test_items_that_take_long_go_a_few_at_a_time() -> None:
    clock = Clock()
    assert (await clock.sizes(Background(Way(), clock=clock), 100, 1.0))[-2] == 8


async def test_a_piece_waits_until_no_request_is_under_way() -> None:
    way = Way()
    done: list[Sequence[int]] = []

    async def work() -> None:
        done.extend([piece async for piece in Background(way).pieces([1])])

    with way.serving():
        with way.serving():
            task = asyncio.create_task(work())
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not done
    await task
    assert done


async def test_a_request_that_waits_for_the_background_is_not_given_way_to() -> None:
    way = Way()
    with way.serving():
        clearing = asyncio.create_task(way.clear(60))
        await asyncio.sleep(0)
        assert not clearing.done()
        with way.waiting():
            await asyncio.wait_for(clearing, 30)
        again = asyncio.create_task(way.clear(60))
        await asyncio.sleep(0)
        assert not again.done()
    await asyncio.wait_for(again, 30)


async def test_however_much_is_asked_the_background_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def clear(_: Way, at_most_s: float) -> None:
        waited.append(at_most_s)

    monkeypatch.setattr(giving_way.Way, "clear", clear)
    clock = Clock()
    sizes = await clock.sizes(Background(Way(), clock=clock), 2000, PIECE_S / 10)
    took = PIECE_S / 10 * sum(sizes)
    assert took / (took + sum(waited)) == pytest.approx(SHARE, rel=0.2)


async def test_who_gives_way_to_a_request_without_end_goes_in_the_end() -> None:
    way = Way()
    with way.serving():
        async with asyncio.timeout(10):
            assert [piece async for piece in Background(way).pieces([1])] == [[1]]


async def test_requests_count_while_they_are_handled_and_only_those_that_somebody_waits_for() -> None:
    way, go, done = Way(), asyncio.Event(), []

    async def handler(*_: Any) -> Any:
        await go.wait()

    async def given_way() -> None:
        await way.clear(60)
        done.append("clear")

    handlers = way.first(dict.fromkeys(("store", "store_many"), handler))
    bulk = asyncio.create_task(cast("Any", handlers["store_many"])(None, None))
    await asyncio.sleep(0)
    await given_way()
    store = asyncio.create_task(cast("Any", handlers["store"])(None, None))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(given_way())
    await asyncio.sleep(0)
    assert done == ["clear"]
    go.set()
    await wait_until(lambda: len(done) == 2, description="the background goes on")
    await asyncio.gather(bulk, store, waiting)


def test_what_is_background_are_operations() -> None:
    assert set(OPERATIONS) >= BACKGROUND
