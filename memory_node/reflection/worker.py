"""Workers of the job queue: they look back, a few at a time, the urgent first, and never in anybody's way."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

from msgspec.structs import replace
from nats.aio.msg import Msg

from ...bus import instrumentation, names
from ...bus.dead_letters import DeadLetters
from ...bus.jobs import Job, JobChanged, JobRecord, Jobs, PoolReview
from ...schemas import AfterwitError, Memory, OperationResult, TimedOut, Unavailable, codec
from ...schemas.reflection import FINISHED, ReflectOperation
from ..inference import Priority
from .applying import Applying, Task
from .episodes import Episodes
from .gathering import Gathering
from .reflector import MOST_OPERATIONS, BadOutput, Material, Reflector
from .review import MOST as MOST_REVIEWED
from .review import Review

logger = logging.getLogger(__name__)

MAX_DELIVERIES: Final = 5
_RETRY_S: Final = 2.0

AfterJob = Callable[[JobRecord], Awaitable[object]]


class Gate:
    """Lets ``size`` in at a time; who waits is let in by urgency, then by arrival."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    @asynccontextmanager
    async def entered(self, urgency: int) -> AsyncIterator[None]:
        """Inside for as long as the block runs; the lowest ``urgency`` goes first."""
        if self._free:
            self._free -= 1
        else:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (urgency, next(self._numbers), turn))
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._leave()
                raise
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        while self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class ReflectionWorker:
    """Handles batches of the job queue for one node."""

    def __init__(  # noqa: PLR0913  # each is another part of a job's way
        self,
        *,
        jobs: Jobs,
        gathering: Gathering,
        episodes: Episodes,
        reflector: Reflector,
        applying: Applying,
        review: Review,
        dead: DeadLetters,
        clock: Callable[[], datetime],
        at_once: int = 2,
        within_s: float = 300.0,
        after: AfterJob | None = None,
    ) -> None:
        self._jobs = jobs
        self._gathering = gathering
        self._episodes = episodes
        self._reflector = reflector
        self._applying = applying
        self._review = review
        self._dead = dead
        self._clock = clock
        self._within_s = within_s
        self._after = after
        self._gate = Gate(at_once)

    async def handle(self, messages: list[Msg]) -> None:
        """Do these jobs, side by side as far as there is room."""
        async with asyncio.TaskGroup() as group:
            for message in messages:
                group.create_task(self._handle(message), name=f"job {message.subject}")

    async def _handle(self, message: Msg) -> None:
        try:
            job = codec.decode(message.data, Job)
            _, urgency, _ = names.parse_job(message.subject)
        except (AfterwitError, ValueError) as e:
            await self._dead.bury("job", message.subject, message.data, f"it is no job: {e}", message.headers)
            await message.term()
            return
        async with self._gate.entered(names.URGENCIES.index(urgency)):
            await self._settle(message, job)

    async def _settle(self, message: Msg, job: Job) -> None:
        """Do it, and tell the queue and the record what has become of it."""
        retried = (message.headers or {}).get(names.RETRIED)
        try:
            async with asyncio.timeout(self._within_s):
                with instrumentation.looking_back(job.agent, job.trigger):
                    await self._do(job, again=retried is not None)
        except JobChanged:
            await self._given_up(message, job)
        except (Unavailable, TimedOut, TimeoutError) as e:
            reason = str(e) or f"it was not done within {self._within_s:g} s"
            if message.metadata.num_delivered < MAX_DELIVERIES:
                await self._note(job, "failed", reason)
                await message.nak(delay=_RETRY_S * message.metadata.num_delivered)
            else:
                await self._bury(message, job, reason)
        except BadOutput as e:
            await self._bury(message, job, str(e))
        except AfterwitError as e:  # what it was to look at is not there for its agent, or not any more
            await self._note(job, "done", e.message)
            await self._taken(message, job)
        except Exception as e:
            logger.exception("the job %s failed", job.id)
            if message.metadata.num_delivered < MAX_DELIVERIES:
                await self._note(job, "failed", f"{type(e).__name__}: {e}")
                await message.nak(delay=_RETRY_S * message.metadata.num_delivered)
            else:
                await self._bury(message, job, f"{type(e).__name__}: {e}")
        else:
            await self._taken(message, job)

    async def _taken(self, message: Msg, job: Job) -> None:
        """Acknowledge what is done. If its words cannot be erased now it comes again, and is known to be done."""
        try:
            await self._jobs.erase(message, job)
        except Unavailable as e:
            logger.info("the job %s is done and still in its queue: %s", job.id, e)
            await message.nak(delay=_RETRY_S)
        else:
            await message.ack()

    async def _do(self, job: Job, *, again: bool) -> None:
        record, revision = await self._jobs.begin(job)
        if record.state == "dead" and again:  # an operator sent it once more
            record = replace(record, state="queued", reason=None)
        if record.state in FINISHED:
            return
        if record.plan is None:
            record = await self._planned(record)
            revision = await self._jobs.save(record, revision)
        assert record.plan is not None
        assert record.pool is not None
        most = MOST_OPERATIONS + (MOST_REVIEWED if _is_review(job) else 0)
        task = Task(record.job, record.pool, record.reflector or "", dict(record.seen), most)
        results: list[OperationResult] = []
        for number, operation in enumerate(record.plan):
            await self._check_unchanged(job, revision)
            results.append(await self._applying.apply(task, number, operation))
        done = replace(record, state="done", results=tuple(results), at=self._clock(), reason=None)
        await self._jobs.save(done, revision)
        logger.info("job %s (%s) is done: %s", job.id, job.trigger, _summary(results))
        if self._after is not None and not job.dry_run:
            await self._after(done)

    async def _planned(self, record: JobRecord) -> JobRecord:
        job = record.job
        if job.session_id and not job.dry_run:
            events: Sequence[Memory] = await self._gathering.events(job.agent, job.session_id)
            if not await self._episodes.is_told(job.agent, job.session_id, events):
                _, events = await self._episodes.tell(job.agent, job.session_id, priority=Priority.BULK)
            await self._episodes.tell_parts(job.agent, job.session_id, events, priority=Priority.BULK)
        material = await self._gathering.material(job, self._clock())
        plan = await self._asked_for(material)
        seen = {id: memory.seq for id, memory in material.memories.items() if memory.seq is not None}
        if _is_review(job):
            if not job.dry_run:
                await self._review.look_again(material)
            reviewed = await self._review.look(material.pool, self._clock())
            plan, seen = [*plan[:MOST_OPERATIONS], *reviewed.operations], seen | reviewed.seen
            if not job.dry_run:
                await self._jobs.keep_review(material.pool, PoolReview(at=job.at, duplicates=reviewed.duplicates))
        cited = {id for operation in plan for id in _named(operation)}
        return replace(
            record,
            state="running",
            reflector=self._reflector.name,
            pool=material.pool,
            plan=tuple(plan),
            seen={id: seq for id, seq in seen.items() if id in cited},
            at=self._clock(),
        )

    async def _asked_for(self, material: Material) -> list[ReflectOperation]:
        """What the reflector wants done. A pool is looked after by the calendar even while that one is of no use."""
        try:
            return await self._reflector.reflect(material)
        except (BadOutput, Unavailable, TimedOut) as e:
            if material.job.trigger != "schedule":
                raise
            logger.warning("%s is reviewed without %s: %s", material.pool, self._reflector.name, e)
            return []

    async def _check_unchanged(self, job: Job, revision: int) -> None:
        found = await self._jobs.get(job.id)
        if found is None or found[1] != revision:
            raise JobChanged(job.id)

    async def _given_up(self, message: Msg, job: Job) -> None:
        """Cancelled, or done by another worker; if not, that one is at it and this delivery comes again."""
        found = await self._jobs.get(job.id)
        if found is None or found[0].state in FINISHED:
            await self._taken(message, job)
        else:
            await message.nak(delay=_RETRY_S)

    async def _bury(self, message: Msg, job: Job, reason: str) -> None:
        logger.error("job %s goes to the dead letters: %s", job.id, reason)
        await self._dead.bury("job", message.subject, message.data, reason, message.headers)
        await self._note(job, "dead", reason)
        await self._taken(message, job)

    async def _note(self, job: Job, state: str, reason: str) -> None:
        """Write down how it stands, unless somebody else wrote meanwhile."""
        try:
            record, revision = await self._jobs.begin(job)
            if record.state not in FINISHED:
                changed = replace(record, state=state, reason=reason[:1000], at=self._clock())
                await self._jobs.save(changed, revision)
        except (JobChanged, Unavailable, TimedOut) as e:
            logger.info("the record of job %s is not changed: %s", job.id, e)


def _is_review(job: Job) -> bool:
    """Whether the job looks after a whole pool: by the calendar, or because somebody asked for just that."""
    return job.trigger == "schedule" or (job.trigger == "asked" and job.session_id is None and job.focus is None)


def _named(operation: object) -> Sequence[str]:
    """Every memory that an operation names."""
    one = (getattr(operation, field, None) for field in ("id", "source", "target"))
    many = (getattr(operation, field, ()) for field in ("evidence", "contradicting"))
    return [id for id in one if id is not None] + [id for ids in many for id in ids]


def _summary(results: Sequence[OperationResult]) -> str:
    counts: dict[str, int] = {}
    for result in results:
        counts[result.result] = counts.get(result.result, 0) + 1
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "nothing to do"
