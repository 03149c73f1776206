"""The ingest stream, rejections and dead letters on a real server."""

from __future__ import annotations

import asyncio
import json

import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext

from afterwit.bus import ingest, names
from afterwit.bus.dead_letters import DeadLetters
from afterwit.schemas import Invalid, Store, TimedOut, Unavailable
from tests.engines.nats_server import NatsServer


async def test_what_was_ingested_waits_in_the_stream(nc: Client, js: JetStreamContext) -> None:
    await ingest.publish(js, "alice", "shared/ops", Store(content="磁盘满了", idempotency_key="k1"))
    stored = await js.get_msg(names.INGEST, seq=1)
    assert stored.subject is not None
    assert names.parse_ingest(stored.subject) == ("alice", "shared/ops")
    assert json.loads(stored.data or b"")["content"] == "磁盘满了"


async def test_what_waits_is_seen_and_taken_out_past_the_queue(nc: Client, js: JetStreamContext) -> None:
    for agent, pool in [("alice", "agent/alice")] * 3 + [("bob", "shared/ops"), ("bob", "agent/bob")]:
        await ingest.publish(js, agent, pool, Store(content=f"of {agent}"))
    await js.publish(names.INGEST_FILLER, b"")
    waiting = ingest.Waiting(nc)
    subjects = [names.ingest("bob", "agent/bob"), names.ingest("bob", "shared/ops")]
    found = await waiting.agents()
    assert found.keys() == {"alice", "bob"}
    assert sorted(found["bob"]) == subjects
    assert [item.seq for item in await waiting.oldest(names.ingest("alice", "agent/alice"), 2)] == [1, 2]
    for _ in range(2):  # gone is gone
        await waiting.remove(4)
    assert (await waiting.agents())["bob"] == [names.ingest("bob", "agent/bob")]


async def test_a_rejection_reaches_the_agent(nc: Client, js: JetStreamContext) -> None:
    subscription = await nc.subscribe(names.rejected("alice"))
    await ingest.reject(nc, "alice", Invalid("no such field", field="colour"), {"content": "x", "colour": "red"})
    message = json.loads((await subscription.next_msg(timeout=30)).data)
    assert message == {
        "error": {"code": "invalid", "message": "no such field", "detail": {"field": "colour"}},
        "item": {"content": "x", "colour": "red"},
    }
    await subscription.unsubscribe()


async def test_a_dead_letter_keeps_where_it_was_addressed_to_and_why(nc: Client, js: JetStreamContext) -> None:
    dead = DeadLetters(js)
    subject = names.ingest("alice", "shared/ops")
    headers = {"Nats-Msg-Id": "sender's", "traceparent": "00-1-2-01"}
    for _ in range(2):
        await dead.bury("ingest", subject, b"\xff", "not JSON", headers)
    info = await js.stream_info(names.DEAD)
    assert info.state.messages == 1
    stored = await js.get_msg(names.DEAD, seq=1)
    assert stored.data == b"\xff"
    assert stored.headers is not None
    assert stored.headers[names.REASON] == "not JSON"
    assert stored.headers[names.SUBJECT] == subject
    assert stored.headers["traceparent"] == "00-1-2-01"


async def test_what_is_as_large_as_a_message_can_be_is_buried_and_answered(nc: Client, js: JetStreamContext) -> None:
    """There is no room for it beside the reason: the server would end the connection of who tries."""
    dead = DeadLetters(js)
    subscription = await nc.subscribe(names.rejected("alice"))
    data = b"x" * nc.max_payload
    await dead.bury("ingest", names.ingest("alice", "agent/alice"), data, "不是 JSON" * 1000)
    (letter,) = await dead.page(0, 10)
    assert nc.max_payload - 8192 < len(letter.data) < nc.max_payload
    assert letter.reason.startswith(f"cut, it had {len(data)} bytes; 不是 JSON")
    for item, named in (
        (data.decode(), None),
        ({"content": data.decode(), "idempotency_key": "k"}, {"idempotency_key": "k"}),
        ({"content": "x", "idempotency_key": data.decode()}, None),
    ):
        await ingest.reject(nc, "alice", Invalid(f"no such field {data!r}", field="colour"), item)
        message = json.loads((await subscription.next_msg(timeout=10)).data)
        assert message["item"] == named
        assert message["error"]["message"].startswith("no such field")
    assert nc.is_connected
    await subscription.unsubscribe()


async def test_headers_that_leave_no_room_are_not_buried_with_a_letter(nc: Client, js: JetStreamContext) -> None:
    dead = DeadLetters(js)
    headers = {"Agents-Own": "x" * (nc.max_payload - 100), "Content-Type": "application/msgpack"}
    await dead.bury("ingest", names.ingest("alice", "agent/alice"), b"{}", "not JSON", headers)
    (letter,) = await dead.page(0, 10)
    assert (letter.data, letter.reason) == (b"{}", "not JSON")
    assert "Agents-Own" not in letter.headers


async def test_ingesting_without_a_stream_is_unavailable(
    nats_server: NatsServer, nc: Client, js: JetStreamContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(nats_server.kill)
    giving = asyncio.create_task(ingest.publish(js, "alice", "shared/ops", Store(content="x")))
    await asyncio.to_thread(nats_server.start)
    await giving
    await js.delete_stream(names.INGEST)
    within_s = 0.2
    while True:
        monkeypatch.setattr(ingest, "_TIMEOUT_S", within_s)
        try:
            with pytest.raises(Unavailable):
                await ingest.publish(js, "alice", "shared/ops", Store(content="x"))
        except TimedOut:  # the server said nothing at all for so long
            within_s *= 4
        else:
            break
