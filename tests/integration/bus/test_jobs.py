"""What jobs hold of a memory that is purged: in their queue, and in their records."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from nats.aio.client import Client
from nats.js import JetStreamContext

from afterwit.bus import names
from afterwit.bus.jobs import Job, Jobs, PoolReview
from afterwit.schemas import ForgetOperation, OperationResult, StoreOperation
from afterwit.schemas.reflection import JobState, ReflectOperation
from tests.samples import NOON, new_id

PURGED, OTHER = new_id(), new_id()
TEXT = "the door code is 7781"


def store(*evidence: str) -> StoreOperation:
    return StoreOperation(content=f"seen: {TEXT}", kind="lesson", evidence=evidence, because="told")


async def submitted(jobs: Jobs, focus: str | None = None) -> Job:
    job = Job(id=new_id(), agent="alice", trigger="asked", at=NOON, focus=focus)
    assert await jobs.submit(job)
    return job


@pytest.mark.parametrize("state", ["running", "done"])
async def test_operations_on_it_give_way_to_nothing(nc: Client, js: JetStreamContext, state: JobState) -> None:
    """In their places, so that a job which goes on makes of each number what it would have made."""
    jobs = Jobs(nc)
    record, revision = await jobs.begin(await submitted(jobs))
    spared = replace(store(OTHER), content="something else")
    plan: tuple[ReflectOperation, ...] = (store(OTHER, PURGED), spared)
    results = tuple(OperationResult(operation=each, result="applied", id=new_id()) for each in plan)
    held = replace(record, state=state, plan=plan, results=results, seen={PURGED: 1, OTHER: 2}, pool="agent/alice")
    await jobs.save(held, revision)

    await jobs.forget([PURGED], [TEXT.encode()], NOON)
    found = await jobs.get(record.job.id)
    assert found is not None
    assert found[0].plan is not None
    nothing, other = found[0].plan
    assert (nothing, other) == (ForgetOperation(id=PURGED, evidence=(PURGED,), because=nothing.because), spared)
    assert [each.operation for each in found[0].results] == [nothing, spared]
    assert (found[0].state, [each.id for each in found[0].results]) == (state, [each.id for each in results])
    await jobs.forget([PURGED], [TEXT.encode()], NOON)
    assert await jobs.get(record.job.id) == found, "there is nothing left to do"


async def test_what_a_review_found_is_no_job(nc: Client, js: JetStreamContext) -> None:
    """Not even where its time stands in what was purged."""
    jobs, review = Jobs(nc), PoolReview(at=NOON, duplicates=3)
    await jobs.keep_review("shared/ops", review)
    await jobs.forget([PURGED], [NOON.isoformat()[:16].encode()], NOON)
    assert await jobs.review_of("shared/ops") == review


async def test_a_job_that_was_asked_for_in_its_words_is_cancelled(nc: Client, js: JetStreamContext) -> None:
    jobs = Jobs(nc)
    about_it, other = await submitted(jobs, f"why {TEXT}?"), await submitted(jobs, "the weather")
    await jobs.forget([PURGED], [TEXT.encode()], NOON)
    found = await jobs.get(about_it.id)
    assert found is not None
    assert (found[0].state, found[0].job.focus) == ("cancelled", None)
    assert (await js.stream_info(names.JOBS)).state.messages == 1
    left = await jobs.get(other.id)
    assert left is not None
    assert (left[0].state, left[0].job.focus) == ("queued", "the weather")
