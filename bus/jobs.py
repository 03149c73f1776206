"""Jobs: work that nobody waits for, in a work queue, and how each of them stands, in a bucket.

The queue says that a job is to be done, the record what has become of it. Every change of a record expects the one
before it, so that two workers that have the same job, or a worker and somebody who cancels it, do not overwrite each
other; and a job whose record says that it is done is not done again, however often it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, Literal, TypeAlias

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg

from ..schemas import ForgetOperation, OperationResult, codec
from ..schemas.reflection import FINISHED, JobState, ReflectOperation
from . import names
from ._publish import publish_acked
from .direct import Reader
from .erasing import Eraser
from .identity._bucket import Bucket, LostRaceError
from .mailbox import Question

Trigger: TypeAlias = Literal["asked", "session_end", "overflow", "recurrence", "schedule"]

_URGENCY: Final[dict[Trigger, str]] = {
    "asked": "asked",
    "session_end": "triggered",
    "overflow": "triggered",
    "recurrence": "triggered",
    "schedule": "scheduled",
}
_ATTEMPTS: Final = 8


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be looked back on, and on whose behalf."""

    id: str
    agent: str
    trigger: Trigger
    at: datetime
    session_id: str | None = None
    pool: str | None = None
    focus: str | None = None
    dry_run: bool = False


class JobRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How a job stands.

    ``plan`` is what the reflector asked for, settled before any of it is done, so that a worker that takes over does
    the same; ``seen`` are the log sequences of the memories that it was asked for knowing; ``pool`` is where it writes.
    """

    job: Job
    state: JobState = "queued"
    at: datetime
    reflector: str | None = None
    pool: str | None = None
    plan: tuple[ReflectOperation, ...] | None = None
    seen: dict[str, int] = {}
    results: tuple[OperationResult, ...] = ()
    reason: str | None = None


class PoolReview(msgspec.Struct, frozen=True, kw_only=True):
    """What the last review of a pool found: how many pieces of knowledge say what another one says, and stay."""

    at: datetime
    duplicates: int


class JobChanged(Exception):
    """Somebody else changed the job's record: read it again."""


class Jobs:
    """Hands jobs over and keeps their records. Every method raises `Unavailable` or `TimedOut` when NATS is away."""

    def __init__(self, nc: Client, *, replicas: int = 1) -> None:
        self._nc = nc
        self._bucket = Bucket(nc, names.JOB_RECORDS, leader=replicas > 1)
        self._reader = Reader(nc, names.kv_stream(names.JOB_RECORDS))
        self._eraser = Eraser(nc)

    async def submit(self, job: Job) -> bool:
        """Queue ``job``; false if it is known already. What decides that it is the same job is its id.

        The queue comes first: a record without a job would wait for ever, a job without a record is done all the same.
        """
        if await self.get(job.id) is not None:
            return False
        subject = names.job(names.REFLECT, _URGENCY[job.trigger], job.id)
        await publish_acked(self._nc, [Question(subject, codec.encode(job), {names.MESSAGE_ID: job.id})])
        await self.begin(job)
        return True

    async def begin(self, job: Job) -> tuple[JobRecord, int]:
        """The record of ``job``, made now if there is none, and its revision."""
        for _ in range(_ATTEMPTS):
            found = await self.get(job.id)
            if found is not None:
                return found
            try:
                await self._bucket.put(job.id, codec.encode(JobRecord(job=job, at=job.at)), expected=0)
            except LostRaceError:
                continue
        raise JobChanged(job.id)

    async def get(self, id: str) -> tuple[JobRecord, int] | None:
        """A job's record and its revision, if it is (still) kept."""
        entry = await self._bucket.get(id)
        if entry is None or entry.value is None:
            return None
        return codec.decode(entry.value, JobRecord), entry.revision

    async def save(self, record: JobRecord, revision: int) -> int:
        """Replace the record that was read at ``revision``; answers the new one.

        Raises:
            JobChanged: it is another one by now.
        """
        try:
            await self._bucket.put(record.job.id, codec.encode(record), expected=revision)
        except LostRaceError as e:
            raise JobChanged(record.job.id) from e
        found = await self.get(record.job.id)
        if found is None or found[0] != record:
            raise JobChanged(record.job.id)
        return found[1]

    async def keep_review(self, pool: str, review: PoolReview) -> None:
        """Remember what a review of ``pool`` found, unless a later one has been kept."""
        key = names.review_key(pool)
        for _ in range(_ATTEMPTS):
            entry = await self._bucket.get(key)
            if entry is not None and entry.value is not None and codec.decode(entry.value, PoolReview).at > review.at:
                return
            try:
                await self._bucket.put(key, codec.encode(review), expected=entry.revision if entry else 0)
            except LostRaceError:
                continue
            return

    async def review_of(self, pool: str) -> PoolReview | None:
        """What the last review of ``pool`` found, if it was within a week."""
        entry = await self._bucket.get(names.review_key(pool))
        return None if entry is None or entry.value is None else codec.decode(entry.value, PoolReview)

    async def cancel(self, id: str, now: datetime) -> JobRecord | None:
        """Stop a job that is not finished: what it has done by then stays. Answers its record."""
        for _ in range(_ATTEMPTS):
            found = await self.get(id)
            if found is None or found[0].state in FINISHED:
                return found[0] if found else None
            cancelled = msgspec.structs.replace(found[0], state="cancelled", at=now)
            try:
                await self.save(cancelled, found[1])
            except JobChanged:
                continue
            return cancelled
        raise JobChanged(id)

    async def erase(self, message: Msg, job: Job) -> None:
        """Overwrite a job's message that is about to be acknowledged, if it holds words: they may be a memory's.

        Of a message that was acknowledged the bytes would stay until its file has no other.
        """
        if job.focus is not None:
            await self._eraser.erase(names.JOBS, [message.metadata.sequence.stream])

    async def forget(self, ids: Sequence[str], words: Sequence[bytes], now: datetime) -> None:
        """Take out of queue and records what they hold of these memories, and what quotes one of ``words``.

        An operation that names one gives way to one that does nothing, so that the others keep their numbers. A job
        that was asked for in these words is cancelled.
        """

        def mentions(data: bytes) -> bool:
            return any(id.encode() in data for id in ids) or quotes(data)

        def quotes(data: bytes) -> bool:
            return any(word in data for word in words)

        nothing = ForgetOperation(id=ids[0], evidence=(ids[0],), because="what it was about was purged")
        async for stored in self._reader.scan(subject=names.kv_subject(names.JOB_RECORDS, "*")):  # of jobs, not reviews
            if mentions(stored.data):
                await self._replace(codec.decode(stored.data, JobRecord).job.id, mentions, quotes, nothing, now)
        await self._eraser.erase_mentions(names.JOBS, words)

    async def _replace(
        self,
        id: str,
        mentions: Callable[[bytes], bool],
        quotes: Callable[[bytes], bool],
        nothing: ForgetOperation,
        now: datetime,
    ) -> None:
        for _ in range(_ATTEMPTS):
            found = await self.get(id)
            if found is None:
                return
            record, revision = found
            left = _without(record, mentions, nothing)
            if quotes(codec.encode(left)):  # in its focus, or in what it failed for
                left = msgspec.structs.replace(
                    left,
                    job=msgspec.structs.replace(record.job, focus=None),
                    state=record.state if record.state in FINISHED else "cancelled",
                    reason=nothing.because,
                    at=now,
                )
            if left == record:
                return
            try:
                await self.save(left, revision)
            except JobChanged:
                continue
            return
        raise JobChanged(id)


def _without(record: JobRecord, mentions: Callable[[bytes], bool], nothing: ForgetOperation) -> JobRecord:
    def spared(operation: ReflectOperation) -> ReflectOperation:
        return nothing if mentions(codec.encode(operation)) else operation

    plan = None if record.plan is None else tuple(map(spared, record.plan))
    results = tuple(
        msgspec.structs.replace(result, operation=nothing, reason=None) if mentions(codec.encode(result)) else result
        for result in record.results
    )
    return msgspec.structs.replace(record, plan=plan, results=results)
