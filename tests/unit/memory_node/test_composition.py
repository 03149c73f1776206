"""A part of a node that fails does not leave a node that lives on without it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from afterwit.memory_node.composition import consuming
from afterwit.schemas import Internal


async def test_a_part_that_fails_is_told_at_once_and_ends_the_node_with_its_error() -> None:
    failed = asyncio.Event()

    async def fails(stop: asyncio.Event) -> None:
        raise Internal("the consumer cannot be made as asked")

    async def until_it_fails() -> None:
        async with AsyncExitStack() as stack, asyncio.timeout(10):
            await consuming(stack, "indexer", fails, failed.set)
            await failed.wait()

    with pytest.raises(Internal, match="cannot be made"):
        await until_it_fails()


async def test_a_part_that_is_stopped_finishes_what_it_has_in_hand_and_has_not_failed() -> None:
    failed = asyncio.Event()
    finished = []

    async def works(stop: asyncio.Event) -> None:
        await stop.wait()
        finished.append("in hand")

    async with AsyncExitStack() as stack:
        await consuming(stack, "indexer", works, failed.set)
    assert finished == ["in hand"]
    assert not failed.is_set()
