"""What sets jobs off besides agents: sessions that went quiet, things that recur, and the calendar.

Any node may do it. A job's id follows from what set it off, so that several nodes that notice the same make one job.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from ...bus.identity import Agents, PoolRegistry
from ...bus.jobs import Job, JobRecord, Jobs
from ...schemas import LogEntry, Memory, NotFound, TimeRange
from ...schemas.words import EVENT_KINDS
from ..access import private_pool
from ..ids import derived_id
from ..index import Index, IndexFilter
from ..repeating import repeated
from .episodes import AUTHOR, Episodes
from .gathering import Gathering
from .patterns import K, M
from .switches import Switches

LOOKS_EVERY_S: Final = 30.0
_REMEMBERED: Final = 20_000
_RECOVERED: Final = timedelta(days=2)
_PAGE: Final = 5_000
_MOST_PAGES: Final = 20


def session_end(agent: str, session_id: str, events: Sequence[Memory], now: datetime) -> Job:
    """The job for a session that ended as it stands: the same one for everybody who ends it there."""
    newest = max(event.seq or 0 for event in events)
    return Job(
        id=derived_id("session_end", agent, session_id, str(newest)),
        agent=agent,
        trigger="session_end",
        at=now,
        session_id=session_id,
    )


def overflow(agent: str, session_id: str, times: int, now: datetime) -> Job:
    """The job for a window that ran over, for the ``times``-th time."""
    return Job(
        id=derived_id("overflow", agent, session_id, str(times)),
        agent=agent,
        trigger="overflow",
        at=now,
        session_id=session_id,
    )


class Triggers:
    """Notices what should be looked back on, and queues it."""

    def __init__(
        self,
        *,
        jobs: Jobs,
        gathering: Gathering,
        episodes: Episodes,
        index: Index,
        clock: Callable[[], datetime],
        switches: Switches,
    ) -> None:
        self._jobs = jobs
        self._gathering = gathering
        self._episodes = episodes
        self._index = index
        self._clock = clock
        self._switches = switches
        self._heard: OrderedDict[tuple[str, str], datetime] = OrderedDict()
        self._recovered_at: datetime | None = None

    def hear(self, entries: Iterable[LogEntry]) -> None:
        """Events were indexed: their sessions are alive."""
        for entry in entries:
            memory = entry.memory
            if memory.session_id is None or memory.author == AUTHOR or memory.kind not in EVENT_KINDS:
                continue
            session = (memory.author, memory.session_id)
            self._heard[session] = max(memory.created_at, self._heard.get(session, memory.created_at))
            self._heard.move_to_end(session)
            if len(self._heard) > _REMEMBERED:
                self._heard.popitem(last=False)

    async def after(self, done: JobRecord) -> None:
        """A job is done: does what its session was about recur in the pool?"""
        if not self._switches.recurrence or done.job.session_id is None or done.pool is None:
            return
        latest = await self._index.find(
            IndexFilter(pools=(done.pool,), kind="episode", statuses_hidden=frozenset({"archived"})), limit=M
        )
        counts: dict[str, int] = {}
        for episode in latest:
            for name in {name.casefold() for name in episode.entities}:
                counts[name] = counts.get(name, 0) + 1
        own = next((episode for episode in latest if episode.session_id == done.job.session_id), None)
        if own is None or not any(counts[name.casefold()] >= K for name in own.entities):
            return
        await self._jobs.submit(
            Job(
                id=derived_id("recurrence", done.pool, own.id, str(own.version)),
                agent=done.job.agent,
                trigger="recurrence",
                at=self._clock(),
                pool=done.pool,
            )
        )

    async def run(self, stop: asyncio.Event, everybody: Everybody) -> None:
        """Look from time to time, until ``stop``."""
        await repeated(partial(self.look, everybody), LOOKS_EVERY_S, stop, what="looking for what is due")

    async def look(self, everybody: Everybody) -> None:
        """End the sessions that went quiet; queue what the calendar says."""
        now = self._clock()
        if self._switches.idle_s and self._switches.session_end:
            await self._recover(now)
            await self._end_idle(now)
        if self._switches.schedule:
            await self._queue_due(now, everybody)

    async def _recover(self, now: datetime) -> None:
        """Sessions that were heard before this node started, or by another one, which may be gone since."""
        idle = timedelta(seconds=self._switches.idle_s)
        if self._recovered_at is not None and now - self._recovered_at < idle:
            return
        start = now - _RECOVERED if self._recovered_at is None else self._recovered_at - idle
        end = now + timedelta(days=1)
        for _ in range(_MOST_PAGES):
            recent = IndexFilter(
                pools=None,
                time_range=TimeRange(start=start, end=end),
                statuses_hidden=frozenset({"archived", "quarantined"}),
            )
            found = await self._index.find(recent, limit=_PAGE)
            self.hear(LogEntry(memory=memory, change="created", actor=memory.author) for memory in found)
            if len(found) < _PAGE or (oldest := min(memory.occurred_at for memory in found)) == end:
                break
            end = oldest
        self._recovered_at = now

    async def _end_idle(self, now: datetime) -> None:
        quiet_since = now - timedelta(seconds=self._switches.idle_s)
        for (agent, session_id), last in list(self._heard.items()):
            if last > quiet_since:
                continue
            try:
                events = await self._gathering.events(agent, session_id)
            except NotFound:
                del self._heard[agent, session_id]
                continue
            newest = max(event.created_at for event in events)
            if newest > quiet_since:  # another node has indexed what came since
                self._heard[agent, session_id] = newest
                continue
            if not await self._episodes.is_told(agent, session_id, events):
                await self._jobs.submit(session_end(agent, session_id, events, now))
            if self._heard.get((agent, session_id)) == last:
                del self._heard[agent, session_id]

    async def _queue_due(self, now: datetime, everybody: Everybody) -> None:
        period = int(now.timestamp() // self._switches.every_s)
        if period == everybody.queued:
            return
        for pool, agent in await everybody.pools():
            job = Job(
                id=derived_id("schedule", pool, str(self._switches.every_s), str(period)),
                agent=agent,
                trigger="schedule",
                at=now,
                pool=pool,
            )
            await self._jobs.submit(job)
        everybody.queued = period


class Everybody:
    """Every pool, and on whose behalf it is looked after: its agent's, or an owner's."""

    def __init__(self, agents: Agents, registry: PoolRegistry) -> None:
        self._agents = agents
        self._registry = registry
        self.queued: int | None = None
        """The period for which this node has queued everything."""

    async def pools(self) -> list[tuple[str, str]]:
        """(pool, agent), for pools that have one to answer for them."""
        alive = {record.name for record in await self._agents.list() if record.revoked_at is None}
        found = [(private_pool(agent), agent) for agent in sorted(alive)]
        for pool in await self._registry.list():
            grants = await self._registry.grants_in(pool)
            owner = next((agent for agent in sorted(grants) if grants[agent].role == "owner" and agent in alive), None)
            if owner is not None:
                found.append((pool, owner))
        return found
