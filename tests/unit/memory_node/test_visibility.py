"""Waiting for a version to become visible."""

from __future__ import annotations

import asyncio

from afterwit.memory_node.visibility import Visibility
from afterwit.schemas import Notice
from tests.samples import NOON


def notice(*, id: str, seq: int) -> Notice:
    return Notice(
        uri=f"memory://agent/alice/{id}",
        pool="agent/alice",
        tier="episodic",
        id=id,
        version=1,
        seq=seq,
        change="updated",
        actor="alice",
        at=NOON,
    )


async def test_a_notice_that_came_before_the_wait_counts() -> None:
    visibility = Visibility()
    with visibility.watch("a") as watch:
        visibility.on_notice(notice(id="a", seq=7))
        assert await watch.reached(7, timeout_s=0)


async def test_a_later_version_counts_and_an_earlier_one_does_not() -> None:
    visibility = Visibility()
    with visibility.watch("a") as watch:
        waiting = asyncio.create_task(watch.reached(7, timeout_s=30))
        await asyncio.sleep(0)
        visibility.on_notice(notice(id="a", seq=6))
        visibility.on_notice(notice(id="b", seq=9))
        await asyncio.sleep(0)
        assert not waiting.done()
        visibility.on_notice(notice(id="a", seq=8))
        assert await waiting


async def test_the_wait_is_bounded_and_nothing_is_kept_afterwards() -> None:
    visibility = Visibility()
    with visibility.watch("a") as watch:
        assert not await watch.reached(1, timeout_s=0.01)
    assert visibility._watches == {}
