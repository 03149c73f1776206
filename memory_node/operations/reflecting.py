"""`reflect` and `end_session`: what agents ask to be looked back on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Final

from ...bus.jobs import Job, JobRecord, Jobs
from ...bus.rpc import Caller
from ...schemas import EndSession, EndSessionReply, Memory, NotFound, Reflect, ReflectReply, Unavailable
from ...schemas.reflection import FINISHED
from ..access import Access
from ..ids import new_id
from ..inference import Priority
from ..reflection.episodes import Episodes
from ..reflection.gathering import Gathering
from ..reflection.switches import Switches
from ..reflection.triggers import session_end

WAITED_S: Final = 25.0
"""Callers have half a minute for an answer."""
_FIRST_LOOK_S: Final = 0.02
_LAST_LOOK_S: Final = 0.25


class Reflecting:
    """Queues jobs and tells how they stand; ends sessions."""

    def __init__(
        self,
        *,
        access: Access,
        jobs: Jobs,
        gathering: Gathering,
        episodes: Episodes,
        clock: Callable[[], datetime],
        switches: Switches,
    ) -> None:
        self._access = access
        self._jobs = jobs
        self._gathering = gathering
        self._episodes = episodes
        self._clock = clock
        self._switches = switches

    async def reflect(self, caller: Caller, request: Reflect) -> ReflectReply:
        """A new job, or how one stands.

        Raises:
            NotFound, Forbidden: the session, the pool or the job is not there for the caller, or not to write to.
            Unavailable: more is asked for than that a session be ended, and that is switched off.
        """
        if request.job_id is not None:
            record = await self._own(caller.agent, request.job_id)
            if request.cancel:
                record = await self._jobs.cancel(request.job_id, self._clock()) or record
            return await self._answer(record.job.id, wait=request.wait)
        asked = not request.end_session or bool(request.dry_run or request.pool or request.focus)
        if asked and not self._switches.asked:
            raise Unavailable("looking back when asked is switched off here (AFTERWIT_REFLECT_ON_REQUEST)")
        if request.pool is not None:
            await self._access.require(caller.agent, request.pool, "writer")
        episode: Memory | None = None
        id: str | None = None
        if request.end_session:
            assert request.session_id is not None
            ended = await self.end_session(
                caller,
                EndSession(session_id=request.session_id, outcome=request.outcome, user_feedback=request.user_feedback),
            )
            episode, id = ended.episode, ended.job_id
        elif request.session_id is not None:
            await self._gathering.events(caller.agent, request.session_id)
        if asked or (id is None and self._switches.asked):
            id = new_id()
            job = Job(
                id=id,
                agent=caller.agent,
                trigger="asked",
                at=self._clock(),
                session_id=request.session_id,
                pool=request.pool,
                focus=request.focus,
                dry_run=request.dry_run,
            )
            await self._jobs.submit(job)
        if id is None:
            return ReflectReply(state="done", episode=episode, reason="looking back is switched off here")
        return await self._answer(id, wait=request.wait, episode=episode)

    async def end_session(self, caller: Caller, request: EndSession) -> EndSessionReply:
        """Tell the session as an episode; once it is told, look back on it."""
        episode, events = await self._episodes.tell(
            caller.agent, request.session_id, request.outcome, request.user_feedback, priority=Priority.BULK
        )
        job_id = None
        if self._switches.session_end:
            job = session_end(caller.agent, request.session_id, events, self._clock())
            await self._jobs.submit(job)
            job_id = job.id
        else:  # nobody would tell them later
            await self._episodes.tell_parts(caller.agent, request.session_id, events, priority=Priority.BULK)
        return EndSessionReply(episode=episode, job_id=job_id)

    async def _own(self, agent: str, id: str) -> JobRecord:
        found = await self._jobs.get(id)
        if found is None or found[0].job.agent != agent:
            raise NotFound(f"there is no job {id!r} of yours", id=id)
        return found[0]

    async def _answer(self, id: str, *, wait: bool, episode: Memory | None = None) -> ReflectReply:
        """How the job stands; with ``wait`` once it is finished, or the caller has waited long enough."""
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + WAITED_S, _FIRST_LOOK_S
        while True:
            found = await self._jobs.get(id)
            if found is None:
                return ReflectReply(job_id=id, state="queued", episode=episode)
            record = found[0]
            if record.state in FINISHED or not wait or loop.time() > deadline:
                return ReflectReply(
                    job_id=id,
                    state=record.state,
                    operations=record.results,
                    episode=episode,
                    reason=record.reason,
                )
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LAST_LOOK_S)
