"""A word about pools that do badly, and none about others."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import cast

import pytest

from afterwit.memory_node.pool_health import PoolHints, PoolsHealth, hint_of
from afterwit.schemas import PoolHealth, Unavailable
from tests.engines.waiting import wait_until
from tests.samples import NOON

GOOD = PoolHealth(active=50, archived_share=0.4, mean_confidence=0.5, open_conflicts=1, candidates=3, duplicates=2)
POOR = PoolHealth(active=20, archived_share=0.0, mean_confidence=0.2, open_conflicts=6, duplicates=9)


def test_pools_that_do_well_are_not_spoken_of() -> None:
    assert hint_of("shared/ops", GOOD) is None
    assert hint_of("shared/new", PoolHealth(active=4, archived_share=0.0, open_conflicts=4)) is None


def test_of_the_others_it_is_said_what_is_wrong() -> None:
    hint = hint_of("shared/ops", POOR)
    assert hint is not None
    assert hint.startswith("shared/ops: 6 of 26 memories are disputed")
    assert "9 of 26 say what another one says" in hint
    assert "0.20" in hint


class Figures:
    def __init__(self) -> None:
        self.by_pool = {"shared/good": GOOD, "shared/poor": POOR}
        self.asked: list[str] = []

    async def of(self, pool: str) -> PoolHealth:
        self.asked.append(pool)
        if pool not in self.by_pool:
            raise Unavailable("the index is away")
        return self.by_pool[pool]


async def test_no_retrieval_waits_for_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not known yet is worked out beside it, and known to the next one for a while."""
    monkeypatch.setattr("afterwit.memory_node.pool_health._LOOKS_EVERY_S", 0.01)
    figures, now = Figures(), NOON
    hints = PoolHints(cast("PoolsHealth", figures), lambda: now)
    pools = ["shared/poor", "shared/good", "shared/away", "shared/poor"]
    assert hints.about(pools) == ()
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(hints.run(stop))
        (hint,) = await wait_until(lambda: hints.about(pools), description="it is worked out")
        assert hint.startswith("shared/poor")
        await wait_until(lambda: len(figures.asked) == 3, description="each was asked about once")

        figures.by_pool["shared/poor"] = GOOD
        now += timedelta(minutes=1)
        assert hints.about(pools) == (hint,)
        now += timedelta(minutes=2)
        await wait_until(lambda: not hints.about(pools), description="what has changed is seen later")
        stop.set()
