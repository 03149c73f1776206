from __future__ import annotations

import asyncio

import pytest

from afterwit.memory_node.repeating import repeated
from afterwit.schemas import Unavailable


@pytest.mark.parametrize("error", [Unavailable("away"), ValueError("a fault of ours")])
async def test_what_fails_is_tried_again_and_the_end_is_not_waited_for(error: Exception) -> None:
    stop, times = asyncio.Event(), 0

    async def work() -> None:
        nonlocal times
        times += 1
        if times == 3:
            stop.set()
        raise error

    async with asyncio.timeout(10):
        await repeated(work, 0.001, stop, what="working")
    assert times == 3
    stop.clear()
    ending = asyncio.create_task(repeated(work, 3600, stop, what="working"))
    await asyncio.sleep(0)
    stop.set()
    async with asyncio.timeout(10):
        await ending
    assert times == 4
