"""How pools are doing, and a word about those that do badly."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from ..bus.jobs import Jobs
from ..schemas import AfterwitError, PoolHealth, TimedOut, TimeRange, Unavailable
from ..schemas.words import HIDDEN
from .index import Index, IndexFilter
from .reflection.episodes import AUTHOR as REFLECTION
from .repeating import repeated

logger = logging.getLogger(__name__)

STALE_AFTER: Final = timedelta(days=90)
_TOO_FEW: Final = 10
"""Memories of a pool about which there is nothing to be said yet."""
_DISPUTED: Final = 0.1
_REPEATED: Final = 0.2
_UNSURE: Final = 0.3
"""A pool is poor from these shares of disputed and repeated memories on, or below this mean confidence."""
_HOLDS: Final = timedelta(minutes=2)
_LOOKS_EVERY_S: Final = 0.5
_REMEMBERED: Final = 4096


class PoolsHealth:
    """Reads the figures from the index; the review's from its record."""

    def __init__(self, *, index: Index, jobs: Jobs, clock: Callable[[], datetime]) -> None:
        self._index = index
        self._jobs = jobs
        self._clock = clock

    async def of(self, pool: str) -> PoolHealth:
        """The figures of one pool. Raises `Unavailable` when the index is away."""
        by_status = await self._index.counts_by_status(IndexFilter(pools=(pool,)))
        total = sum(by_status.values())
        visible = IndexFilter(pools=(pool,), statuses_hidden=HIDDEN)
        shown = sum(count for status, count in by_status.items() if status not in HIDDEN)
        old = replace(visible, time_range=TimeRange(end=self._clock() - STALE_AFTER))
        stale = await self._index.count(old) if shown else 0
        told = await self._index.find(IndexFilter(pools=(pool,), author=REFLECTION), limit=1) if shown else []
        try:
            review = await self._jobs.review_of(pool)
        except (Unavailable, TimedOut) as e:  # one figure less is no reason to say nothing
            logger.info("what the last review of %s found cannot be said now: %s", pool, e)
            review = None
        return PoolHealth(
            active=by_status.get("active", 0),
            archived_share=round(by_status.get("archived", 0) / total, 4) if total else 0.0,
            mean_confidence=await self._index.mean_confidence(visible),
            open_conflicts=by_status.get("disputed", 0),
            candidates=by_status.get("candidate", 0),
            superseded=by_status.get("superseded", 0),
            stale_share=round(stale / shown, 4) if shown else 0.0,
            reflected_at=told[0].updated_at if told else None,
            duplicates=review.duplicates if review else None,
        )


class PoolHints:
    """A short word about each pool that does badly. It is worked out beside retrievals, so that none waits for it."""

    def __init__(self, health: PoolsHealth, clock: Callable[[], datetime]) -> None:
        self._health = health
        self._clock = clock
        self._known: OrderedDict[str, tuple[datetime, str | None]] = OrderedDict()
        self._wanted: dict[str, None] = {}

    def about(self, pools: Iterable[str]) -> tuple[str, ...]:
        """What is known of ``pools`` to be said; what is not, or not any more, will be soon."""
        now = self._clock()
        hints = []
        for pool in dict.fromkeys(pools):
            at, hint = self._known.get(pool, (None, None))
            if at is None or now - at > _HOLDS:
                self._wanted[pool] = None
            if hint is not None:
                hints.append(hint)
        return tuple(hints)

    async def run(self, stop: asyncio.Event) -> None:
        """Look at the pools that were asked about, until ``stop``."""
        await repeated(self._look, _LOOKS_EVERY_S, stop, what="hints about pools")

    async def _look(self) -> None:
        wanted, self._wanted = list(self._wanted), {}
        for pool in wanted[-_REMEMBERED:]:
            try:
                hint = hint_of(pool, await self._health.of(pool))
            except AfterwitError as e:
                logger.info("how %s is doing cannot be said now: %s", pool, e)
                hint = None
            self._known[pool] = (self._clock(), hint)
            self._known.move_to_end(pool)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)


def hint_of(pool: str, health: PoolHealth) -> str | None:
    """What whoever reads ``pool`` should know of it; ``None`` of one that does well, or holds too little to say."""
    shown = health.active + health.candidates + health.open_conflicts
    if shown < _TOO_FEW:
        return None
    poor = []
    if health.open_conflicts >= _DISPUTED * shown:
        poor.append(f"{health.open_conflicts} of {shown} memories are disputed: settle them by update")
    if health.duplicates and health.duplicates >= _REPEATED * shown:
        poor.append(f"{health.duplicates} of {shown} say what another one says")
    if health.mean_confidence is not None and health.mean_confidence < _UNSURE:
        poor.append(f"mean confidence is {health.mean_confidence:.2f}")
    return f"{pool}: {'; '.join(poor)}" if poor else None
