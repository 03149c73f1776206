"""What memories were good for, counted on one node and known on all."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext

from afterwit.bus import names, usefulness
from afterwit.bus.direct import Reader
from afterwit.bus.usage import UsageLog, UsageRecord
from afterwit.bus.usefulness import NEUTRAL, Counts, Usefulness
from afterwit.schemas import Internal, Invalid, UsedItem
from tests.engines.waiting import wait_until
from tests.samples import new_id


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usefulness, "LOOKS_AGAIN_AFTER_S", 0.05)


async def test_counts_add_up_and_reach_other_nodes(nc: Client, js: JetStreamContext) -> None:
    id = new_id()
    async with Usefulness(nc) as one, Usefulness(nc) as other:
        assert one.of(id) == NEUTRAL
        await one.count({id: Counts(helped=1)})
        await other.count({id: Counts(helped=1, misled=1)})
        assert other.of(id) == Counts(2, 1).usefulness
        await wait_until(lambda: one.of(id) == Counts(2, 1).usefulness, description="the other node's count arrives")
    async with Usefulness(nc) as later:
        await wait_until(lambda: later.of(id) > NEUTRAL, description="a new node learns what there is")


async def test_a_stream_that_cannot_be_read_once_is_read_again(
    nc: Client, js: JetStreamContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, page, failures = new_id(), Reader._page, iter([Internal("reading it: 409")])

    async def fails_once(reader: Reader, query: dict[str, Any]) -> Any:
        if error := next(failures, None):
            raise error
        return await page(reader, query)

    monkeypatch.setattr(Reader, "_page", fails_once)
    async with Usefulness(nc) as one, Usefulness(nc) as other:
        await other.count({id: Counts(helped=1)})
        await wait_until(lambda: one.of(id) > NEUTRAL, description="the count arrives all the same")


async def recorded(usage: UsageLog, record: UsageRecord, js: JetStreamContext) -> None:
    """Nobody waits for the stream but we."""

    async def kept() -> bool:
        return (await js.stream_info(names.USAGE)).state.messages == 1

    await usage.record(record)
    await wait_until(kept, description="the record is kept")


async def test_the_last_word_about_a_memory_counts(nc: Client, js: JetStreamContext) -> None:
    helped, ignored = new_id(), new_id()
    record = UsageRecord(
        retrieval_id="r-1", agent="alice", profile="evidence", ids=(helped, ignored), scores=(0.9, 0.8), took_ms=1.0,
        at=datetime(2026, 11, 30, tzinfo=UTC),
    )  # fmt: skip
    async with Usefulness(nc) as learnt:
        usage = UsageLog(nc, js, learnt)
        await recorded(usage, record, js)
        await usage.feedback(
            "alice", "r-1", [UsedItem(id=helped, effect="misled"), UsedItem(id=ignored, effect="ignored")]
        )
        assert learnt.of(helped) < NEUTRAL
        assert learnt.of(ignored) == NEUTRAL
        await usage.feedback("alice", "r-1", [UsedItem(id=helped, effect="helped")])
        assert learnt.of(helped) == Counts(helped=1).usefulness
        with pytest.raises(Invalid):
            await usage.feedback("alice", "r-1", [UsedItem(id=new_id(), effect="helped")])


async def test_of_feedbacks_at_once_none_is_lost(nc: Client, js: JetStreamContext) -> None:
    ids = tuple(new_id() for _ in range(8))
    record = UsageRecord(
        retrieval_id="r-1", agent="alice", profile="evidence", ids=ids, scores=(0.5,) * 8, took_ms=1.0,
        at=datetime(2026, 11, 30, tzinfo=UTC),
    )  # fmt: skip
    async with Usefulness(nc) as learnt:
        usage = UsageLog(nc, js, learnt)
        await recorded(usage, record, js)
        await asyncio.gather(*(usage.feedback("alice", "r-1", [UsedItem(id=id, effect="helped")]) for id in ids))
        kept = await usage.get("alice", "r-1")
        assert {item.id for item in kept.feedback} == set(ids)
        # Two who say the same of the same memory said it once: what counts is the last word.
        await asyncio.gather(
            *(usage.feedback("alice", "r-1", [UsedItem(id=ids[0], effect="helped")]) for _ in range(3))
        )
        assert [learnt.of(id) for id in ids] == [Counts(helped=1).usefulness] * 8


def test_a_single_opinion_moves_little_and_many_are_bounded() -> None:
    assert NEUTRAL < Counts(helped=1).usefulness <= 0.6
    assert 0.9 < Counts(helped=1000).usefulness < 1
    assert 0 < Counts(misled=1000).usefulness < 0.1
