"""Taking messages out of streams for good: what is on the disk before and after."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext

from afterwit.bus import names
from afterwit.bus.connection import connect
from afterwit.bus.erasing import Eraser
from afterwit.schemas import TimedOut, Unavailable
from tests.engines.nats_server import NatsServer

SECRET = b"Zq9xW3 needle"
SUBJECT = names.log("agent/alice", "0198c5d2-7a3e-7b1c-9f00-1234567890ab")


def stands(server: NatsServer, text: bytes = SECRET) -> bool:
    """Whether ``text`` stands in any file of the server."""
    return any(text in path.read_bytes() for path in server.directory.rglob("*") if path.is_file())


@asynccontextmanager
async def again(server: NatsServer) -> AsyncIterator[Client]:
    """A new connection: an old one may not have noticed yet that its server died."""
    nc = await connect(server.url, name="test")
    yield nc
    await nc.close()


async def put(js: JetStreamContext, subject: str, *contents: bytes) -> list[int]:
    return [(await js.publish(subject, content)).seq for content in contents]


async def test_an_erased_message_is_overwritten(nats_server: NatsServer, nc: Client, js: JetStreamContext) -> None:
    await put(js, names.log("agent/alice", "other"), *(b"other %d" % n for n in range(100)))
    seqs = await put(js, SUBJECT, SECRET + b" one", SECRET + b" two", b"tombstone")
    await put(js, names.log("agent/alice", "other"), *(b"other %d" % n for n in range(100)))
    assert stands(nats_server)
    eraser = Eraser(nc)
    assert await eraser.erase(names.LOG, seqs[:2]) == 2
    assert not stands(nats_server)
    assert await eraser.erase(names.LOG, [*seqs[:2], 10_000]) == 0, "what is gone, or never was, is no error"
    nats_server.kill()
    nats_server.start()
    async with again(nats_server) as fresh:
        assert (await fresh.jetstream().stream_info(names.LOG)).state.messages == 201
    assert not stands(nats_server)


async def test_everything_before_the_newest_message_of_a_subject(
    nats_server: NatsServer, nc: Client, js: JetStreamContext
) -> None:
    *_, newest = await put(js, SUBJECT, SECRET, b"\xc1 no entry " + SECRET, b"tombstone")
    eraser = Eraser(nc)
    with pytest.raises(Unavailable, match="not known yet"):
        await eraser.erase_earlier(names.LOG, SUBJECT, newest + 1)
    assert stands(nats_server)
    assert await eraser.erase_earlier(names.LOG, SUBJECT, newest) == 2
    assert not stands(nats_server)
    assert (await js.get_last_msg(names.LOG, SUBJECT)).data == b"tombstone"


async def test_mentions_in_payloads_and_headers(nats_server: NatsServer, nc: Client, js: JetStreamContext) -> None:
    subject = names.dead("ingest", "a")
    await js.publish(subject, b"payload " + SECRET)
    await js.publish(subject, b"{}", headers={names.REASON: "about " + SECRET.decode()})
    await js.publish(subject, b"something else")
    assert await Eraser(nc).erase_mentions(names.DEAD, [SECRET]) == 2
    assert not stands(nats_server)
    assert (await js.stream_info(names.DEAD)).state.messages == 1


async def test_a_work_queue_that_comes_to_rest_is_clean(
    nats_server: NatsServer, nc: Client, js: JetStreamContext
) -> None:
    consumer = await js.pull_subscribe("", durable=names.INGESTER, stream=names.INGEST)
    await put(js, names.ingest("alice", "agent/alice"), SECRET)
    (message,) = await consumer.fetch(1)
    await message.ack_sync()
    await Eraser(nc).wash(names.INGEST, names.INGEST_FILLER)
    assert not stands(nats_server)


async def test_a_busy_work_queue_is_washed_by_beginning_a_new_file(
    nats_server: NatsServer, nc: Client, js: JetStreamContext
) -> None:
    consumer = await js.pull_subscribe("", durable=names.INGESTER, stream=names.INGEST)
    await put(js, names.ingest("alice", "agent/alice"), SECRET, *(b"item %d" % n for n in range(10)))
    for message in await consumer.fetch(5):
        await message.ack_sync()
    assert stands(nats_server), "acknowledged, but its file still holds others"
    washing = asyncio.create_task(Eraser(nc).wash(names.INGEST, names.INGEST_FILLER))
    while not washing.done():
        for message in await consumer.fetch(1, timeout=10):
            await message.ack()
            await put(js, names.ingest("alice", "agent/alice"), b"another")
    await washing
    assert not stands(nats_server)
    assert (await js.stream_info(names.INGEST)).state.messages > 0


async def test_a_work_queue_in_which_something_is_stuck_cannot_be_washed(nc: Client, js: JetStreamContext) -> None:
    await put(js, names.ingest("alice", "agent/alice"), b"nobody takes this")
    with pytest.raises(TimedOut):
        await Eraser(nc).wash(names.INGEST, names.INGEST_FILLER, within_s=0.2)
