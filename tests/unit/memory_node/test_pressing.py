"""Summaries of what is left out of a window: worked out once, and let go of when a turn of theirs is purged."""

from __future__ import annotations

import asyncio
import threading

from afterwit.memory_node.window.pressing import Pressing
from afterwit.schemas import Memory
from tests.engines.waiting import wait_until
from tests.samples import memory

BUDGET = 50


class Counter:
    """Counts words, and how often it was asked; ``gate`` holds it up."""

    def __init__(self) -> None:
        self.asked = 0
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, text: str) -> int:
        self.asked += 1
        assert self.gate.wait(20)
        return len(text.split())


def turns(*contents: str) -> list[Memory]:
    return [memory(content, session_id="s", turn=n) for n, content in enumerate(contents)]


async def test_a_summary_is_worked_out_once() -> None:
    count = Counter()
    pressing, said = Pressing(count), turns("The pump in hall 3 leaks.", "3 号厅的水泵漏水。")
    first = await pressing.summary(said, BUDGET)
    asked = count.asked
    assert asked
    assert first.text
    assert await pressing.summary(said, BUDGET) is first
    assert count.asked == asked


async def test_summaries_of_what_was_purged_are_let_go_of_and_others_stay() -> None:
    pressing = Pressing(Counter())
    said, others = turns("The pump in hall 3 leaks.", "Yes, at the valve."), turns("阀门已经换了。")
    gone, kept = await pressing.summary(said, BUDGET), await pressing.summary(others, BUDGET)
    pressing.forget([said[1].id])
    assert await pressing.summary(said, BUDGET) is not gone
    assert await pressing.summary(others, BUDGET) is kept


async def test_what_is_purged_while_it_is_pressed_is_not_kept() -> None:
    count = Counter()
    pressing, said = Pressing(count), turns("The pump in hall 3 leaks.")
    count.gate.clear()
    pressed = asyncio.create_task(pressing.summary(said, BUDGET))
    await wait_until(lambda: count.asked, description="it is being pressed")
    pressing.forget([said[0].id])
    count.gate.set()
    gone = await pressed
    assert await pressing.summary(said, BUDGET) is not gone
