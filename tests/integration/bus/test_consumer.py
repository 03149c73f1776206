"""The fetch loop on a real server."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from afterwit.bus import consumer, names
from afterwit.bus.connection import connect
from afterwit.bus.consumer import consume
from tests.engines.nats_server import NatsServer
from tests.engines.waiting import wait_until

SUBJECT = f"{names.ROOT}.job.test.one"


class Collector:
    """Acks what comes and remembers it."""

    def __init__(self) -> None:
        self.batches: list[list[bytes]] = []

    async def __call__(self, batch: list[Msg]) -> None:
        self.batches.append([msg.data for msg in batch])
        for msg in batch:
            await msg.ack()

    def has(self, count: int) -> bool:
        """Whether so many messages have come."""
        return len(self.seen) == count

    @property
    def seen(self) -> list[bytes]:
        return [data for batch in self.batches for data in batch]


@asynccontextmanager
async def consuming(
    js: JetStreamContext, handle: Callable[[list[Msg]], Awaitable[None]], **options: float
) -> AsyncIterator[None]:
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(consume(js, names.JOBS, "worker", handle, stop=stop, **options))  # type: ignore[arg-type]
        try:
            yield
        finally:
            stop.set()


async def test_one_message_is_given_at_once_and_many_in_batches(js: JetStreamContext) -> None:
    got = Collector()
    async with consuming(js, got):
        await js.publish(SUBJECT, b"alone")
        await wait_until(lambda: got.seen == [b"alone"], description="a single message is handled")
        payloads = [str(n).encode() for n in range(2000)]
        await asyncio.gather(*(js.publish(SUBJECT, p) for p in payloads))
        await wait_until(lambda: len(got.seen) == 2001, description="all messages are handled")
    assert sorted(got.seen[1:]) == sorted(payloads)
    assert max(map(len, got.batches)) <= 256
    assert len(got.batches) < 2001


async def test_what_waited_before_comes_in_full_batches(js: JetStreamContext) -> None:
    await asyncio.gather(*(js.publish(SUBJECT, b"x") for _ in range(1000)))
    got = Collector()
    async with consuming(js, got, batch=100):
        await wait_until(lambda: len(got.seen) == 1000, description="all messages are handled")
    assert max(map(len, got.batches)) <= 100


async def test_at_once_says_how_many_batches_are_in_hand(js: JetStreamContext) -> None:
    go, begun, most = asyncio.Event(), 0, 0

    async def handle(batch: list[Msg]) -> None:
        nonlocal begun, most
        begun, most = begun + 1, max(most, begun + 1)
        await go.wait()
        begun -= 1
        for msg in batch:
            await msg.ack()

    async with consuming(js, handle, batch=1, at_once=3):
        await asyncio.gather(*(js.publish(SUBJECT, b"x") for _ in range(6)))
        await wait_until(lambda: begun == 3, description="three are in hand")
        go.set()

        async def done() -> bool:
            return (await js.stream_info(names.JOBS)).state.messages == 0

        await wait_until(done, description="all are acknowledged")
    assert most == 3


async def test_several_nodes_share_the_work(nats_server: NatsServer, js: JetStreamContext) -> None:
    other = await connect(nats_server.url, name="other node")
    mine, theirs = Collector(), Collector()
    async with consuming(js, mine), consuming(other.jetstream(), theirs):
        await asyncio.gather(*(js.publish(SUBJECT, str(n).encode()) for n in range(3000)))
        await wait_until(lambda: len(mine.seen) + len(theirs.seen) >= 3000, description="all messages are handled")
    assert len({*mine.seen, *theirs.seen}) == len(mine.seen) + len(theirs.seen) == 3000
    await other.close()


async def test_a_handler_that_fails_gets_its_messages_again(
    js: JetStreamContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "_NAK_DELAY_S", 0.01)
    got = Collector()
    failures = 0

    async def sometimes(batch: list[Msg]) -> None:
        nonlocal failures
        if failures < 2:
            failures += 1
            raise RuntimeError("not today")
        await got(batch)

    async with consuming(js, sometimes):
        await js.publish(SUBJECT, b"again")
        await wait_until(lambda: got.seen == [b"again"], description="the message comes again")
    assert failures == 2


async def worked_slowly(nc: Client, js: JetStreamContext, ack_wait_s: float) -> tuple[list[bytes], int, float]:
    """What was given to a handler that takes long, how much of it once more, and the longest time without a sign."""
    got = Collector()
    signs: list[float] = []

    async def sign(_: object = None) -> None:
        signs.append(time.monotonic())

    async def slow(batch: list[Msg]) -> None:
        await sign()
        await wait_until(lambda: signs[-1] - signs[0] > 2 * ack_wait_s, description="it goes on")
        await got(batch)

    heard = await nc.subscribe(f"$JS.ACK.{names.JOBS}.worker.>", cb=sign)
    async with consuming(js, slow, ack_wait_s=ack_wait_s):
        await js.publish(SUBJECT, b"once")
        await wait_until(lambda: got.seen, description="the message is handled")
        info = await js.consumer_info(names.JOBS, "worker")
    await sign()
    await heard.unsubscribe()
    return got.seen, info.num_redelivered or 0, max(after - before for before, after in pairwise(signs))


async def test_slow_work_is_not_given_to_somebody_else(nc: Client, js: JetStreamContext) -> None:
    """As long as the server hears in time that it goes on: where all stood still for longer, it is tried with more."""
    ack_wait_s = 0.5
    while True:
        seen, redelivered, silence_s = await worked_slowly(nc, js, ack_wait_s)
        if silence_s < ack_wait_s:
            break
        ack_wait_s *= 6
    assert seen == [b"once"]
    assert not redelivered


async def test_stopping_finishes_the_batch_in_hand_and_gives_the_rest_back(js: JetStreamContext) -> None:
    started, finish = asyncio.Event(), asyncio.Event()
    got = Collector()

    async def blocked(batch: list[Msg]) -> None:
        started.set()
        await finish.wait()
        await got(batch)

    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(consume(js, names.JOBS, "worker", blocked, stop=stop, batch=10, ack_wait_s=120))
        await js.publish(SUBJECT, b"first")
        await asyncio.wait_for(started.wait(), 30)
        for n in range(5):
            await js.publish(SUBJECT, str(n).encode())
        stop.set()
        finish.set()
    rest = Collector()
    async with consuming(js, rest, ack_wait_s=120):  # which is not waited for: the rest was given back
        await wait_until(lambda: len(rest.seen) + len(got.seen) == 6, description="another node gets the rest")


async def test_it_outlives_the_server(
    nats_server: NatsServer, js: JetStreamContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is killed and restarted under the loop, and the next message comes with the connection."""
    monkeypatch.setattr(consumer, "_SILENCE_S", 3600.0)
    got = Collector()
    async with consuming(js, got):
        for n in range(3):
            await js.publish(SUBJECT, str(n).encode())
            await wait_until(partial(got.has, n + 1), description=f"message {n} is handled")
            await asyncio.to_thread(nats_server.kill)
            await asyncio.to_thread(nats_server.start)
            await wait_until(lambda: js._nc.is_connected, description="connected again")
        await js.publish(SUBJECT, b"last")
        await wait_until(lambda: b"last" in got.seen, description="the message after the restart is handled")


async def test_a_consumer_that_was_deleted_is_made_again(js: JetStreamContext) -> None:
    got = Collector()
    async with consuming(js, got):
        await js.publish(SUBJECT, b"before")
        await wait_until(lambda: got.seen, description="the first message is handled")
        await js.delete_consumer(names.JOBS, "worker")
        await js.publish(SUBJECT, b"after")
        await wait_until(lambda: b"after" in got.seen, description="the message after the deletion is handled")


async def test_silence_is_noticed(nc: Client, js: JetStreamContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pull request that the server has forgotten without a word is made again."""
    monkeypatch.setattr(consumer, "_SILENCE_S", 0.3)
    monkeypatch.setattr(consumer, "_HEARTBEAT_S", 0.1)
    got = Collector()
    async with consuming(js, got):
        await js.publish(SUBJECT, b"before")
        await wait_until(lambda: got.seen, description="the first message is handled")
        sub = next(s for s in nc._subs.values() if s.subject.startswith("_INBOX") and not s.subject.endswith("*"))
        await nc._send_unsubscribe(sub._id)  # the server now drops what it would have sent
        await nc._send_subscribe(sub)
        await js.publish(SUBJECT, b"after")
        await wait_until(lambda: b"after" in got.seen, description="the message after the silence is handled")


async def test_waiting_costs_nothing(js: JetStreamContext) -> None:
    got = Collector()
    async with consuming(js, got):
        await js.publish(SUBJECT, b"x")
        await wait_until(lambda: got.seen, description="the message is handled")
        before = sum(os.times()[:2])
        await asyncio.sleep(2.0)
        assert sum(os.times()[:2]) - before < 0.1, "more than 5 % of a core for waiting"
