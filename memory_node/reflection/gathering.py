"""Gathering what a job is about: under the permissions of the agent on whose behalf it is done, as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from ...bus.jobs import Job
from ...schemas import Memory, Unauthenticated
from ...schemas.words import Status
from ..access import Access, no_such_session, private_pool
from ..index import Index, IndexFilter
from ..index.analysis import folded
from ..window.selection import in_order
from .reflector import Material

MOST_EVENTS: Final = 51_200
"""Of a session, the newest: as many as an episode can be linked to by way of the summaries of its parts."""
MOST_EPISODES: Final = 200
MOST_KNOWLEDGE: Final = 500
_UNSEEN: Final[frozenset[Status]] = frozenset({"archived", "quarantined", "purged"})
_PAST: Final[frozenset[Status]] = _UNSEEN | {"superseded"}


class Gathering:
    """Reads the index. Every method raises `Unavailable` when it is away."""

    def __init__(self, *, access: Access, index: Index) -> None:
        self._access = access
        self._index = index

    async def events(self, agent: str, session_id: str) -> list[Memory]:
        """The agent's session, in order.

        Raises:
            NotFound: there is none.
        """
        pools = await self._access.readable(agent)
        where = IndexFilter(pools=pools, session_id=session_id, author=agent, statuses_hidden=_UNSEEN)
        events = in_order(await self._index.find(where, limit=MOST_EVENTS))
        if not events:
            no_such_session(session_id)
        return events

    async def pool_of(self, agent: str, events: Sequence[Memory]) -> str:
        """Where what is drawn from ``events`` belongs: their pool, if they are all in one that the agent may write to.

        Else the agent's own: what stands in one pool is not for the members of another.
        """
        pools = {event.pool for event in events}
        if len(pools) == 1 and (pool := pools.pop()) in await self._access.writable(agent):
            return pool
        return private_pool(agent)

    async def material(self, job: Job, now: datetime) -> Material:
        """Everything for a job.

        Raises:
            NotFound, Forbidden: the session or the pool is not there for the agent, or not to write to.
            Unauthenticated: the agent was revoked.
        """
        if await self._access.revoked(job.agent):
            raise Unauthenticated(f"the agent {job.agent} was revoked")
        events = await self.events(job.agent, job.session_id) if job.session_id else []
        pool = job.pool or (await self.pool_of(job.agent, events) if events else private_pool(job.agent))
        await self._access.require(job.agent, pool, "writer")
        if pool != private_pool(job.agent):
            events = [event for event in events if event.pool == pool]
        episodes = await self._index.find(
            IndexFilter(pools=(pool,), kind="episode", statuses_hidden=_PAST), limit=MOST_EPISODES
        )
        knowledge = await self._index.find(
            IndexFilter(pools=(pool,), tier="semantic", statuses_hidden=_PAST), limit=MOST_KNOWLEDGE
        )
        if job.focus:
            episodes = [episode for episode in episodes if _is_about(episode, job.focus)]
        return Material(
            job=job,
            pool=pool,
            now=now,
            events=events,
            episodes=sorted(episodes, key=lambda m: m.occurred_at),
            knowledge=sorted(knowledge, key=lambda m: m.occurred_at),
        )


def _is_about(memory: Memory, focus: str) -> bool:
    wanted = folded(focus)
    return any(folded(name) == wanted for name in memory.entities) or wanted in folded(memory.content)
