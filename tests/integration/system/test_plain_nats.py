"""A service with an agent's token, nats-py and json: nothing of ours."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

import msgspec
import nats.errors
import pytest
from nats.aio.client import Client

from tests.engines.agents import Agent
from tests.engines.system import System
from tests.engines.waiting import wait_until


def loaded(data: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(data)
    return value


async def ingest(agent: Agent, payload: bytes, *, pool: str | None = None, **headers: str) -> dict[str, Any]:
    """JetStream's answer to a publish."""
    subject = f"afterwit.v1.ingest.{agent.name}.{(pool or agent.pool).replace('/', '.')}"
    return loaded((await agent.nc.request(subject, payload, timeout=30, headers=headers or None)).data)


async def is_there(agent: Agent, pool: str, content: str) -> bool:
    return content in [memory["content"] for memory in await agent.retrieve(content, pools=[pool])]


async def test_it_stores_by_request(alice: Agent) -> None:
    request = json.dumps({"content": "Deploys are frozen."}).encode()
    answer = await alice.nc.request("afterwit.v1.req.alice.store", request, timeout=30)
    assert loaded(answer.data)["created"] is True
    assert answer.headers is not None
    assert answer.headers["Content-Type"] == "application/json"


async def test_it_may_speak_messagepack(alice: Agent) -> None:
    fields = {"content": "低潮在六点。", "data": {"raw": [1.5, None]}, "occurred_at": "2026-05-01T06:00:00+08:00"}
    headers = {"Content-Type": "application/msgpack"}
    request = msgspec.msgpack.encode(fields)
    answer = await alice.nc.request("afterwit.v1.req.alice.store", request, timeout=30, headers=headers)
    assert answer.headers is not None
    assert answer.headers["Content-Type"] == "application/msgpack"
    memory = msgspec.msgpack.decode(answer.data)["memory"]
    assert (memory["content"], memory["data"]) == (fields["content"], fields["data"])
    assert (await alice.ask("get", id=memory["id"]))["memory"]["occurred_at"] == "2026-04-30T22:00:00Z"


async def test_errors_come_in_the_format_of_the_request(alice: Agent) -> None:
    headers = {"Content-Type": "application/msgpack"}
    request = msgspec.msgpack.encode({"content": "x", "colour": "red"})
    answer = await alice.nc.request("afterwit.v1.req.alice.store", request, timeout=30, headers=headers)
    assert answer.headers is not None
    assert answer.headers["Nats-Service-Error-Code"] == "invalid"
    assert "colour" in answer.headers["Nats-Service-Error"]
    assert msgspec.msgpack.decode(answer.data)["error"]["detail"]["field"] == "colour"


async def test_it_ingests_with_the_streams_ack(alice: Agent, pool: str) -> None:
    ack = await ingest(alice, json.dumps({"content": "Build 1841 took 14 minutes."}).encode(), pool=pool)
    assert ack["stream"] == "AFTERWIT_INGEST"
    await wait_until(lambda: is_there(alice, pool, "Build 1841 took 14 minutes."), description="the item is found")


async def test_ingesting_with_a_key_twice_makes_one_memory(alice: Agent, pool: str, unused: str) -> None:
    item = json.dumps({"content": "Build 1842 took 9 minutes.", "idempotency_key": unused}).encode()
    await ingest(alice, item, pool=pool)
    await ingest(alice, item, pool=pool)
    await ingest(alice, b'{"content": "Build 1843 took 8 minutes."}', pool=pool)
    await wait_until(lambda: is_there(alice, pool, "Build 1843 took 8 minutes."), description="the last item is found")
    await wait_until(lambda: is_there(alice, pool, "Build 1842 took 9 minutes."), description="the first item is found")
    assert (await alice.ask("health", pool=pool))["active"] == 2
    assert (await alice.ask("store", pool=pool, **json.loads(item)))["created"] is False


async def test_it_is_told_of_changes_in_its_pools(alice: Agent, pool: str) -> None:
    notices = await alice.nc.subscribe("afterwit.v1.changed.agent.alice.>")
    await alice.nc.flush()
    memory = await alice.store("The crane is in use.")
    notice = loaded((await notices.next_msg(timeout=30)).data)
    assert (notice["uri"], notice["change"]) == (memory["uri"], "created")


BAD_ITEMS = {
    "unknown field": (b'{"content": "x", "colour": "red"}', "invalid", "colour"),
    "blank": (b'{"content": "  "}', "invalid", "content"),
    "no JSON": (b'{"content": ', "invalid", ""),
    "no UTF-8": (b'{"content": "\xff\xfe"}', "invalid", ""),
    "another pool than the subject's": (b'{"content": "x", "pool": "shared/elsewhere"}', "invalid", "pool"),
    "unknown cause": (
        b'{"content": "x", "caused_by": ["00000000-0000-4000-8000-000000000000"]}', "invalid", "caused_by",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("payload", "code", "field"), BAD_ITEMS.values(), ids=BAD_ITEMS)
async def test_it_is_told_why_an_item_was_refused(
    alice: Agent, nothing_stored: None, payload: bytes, code: str, field: str
) -> None:
    rejections = await alice.nc.subscribe("afterwit.v1.rejected.alice")
    await alice.nc.flush()
    assert "error" not in await ingest(alice, payload)
    rejection = loaded((await rejections.next_msg(timeout=30)).data)
    assert (rejection["error"]["code"], rejection["error"]["detail"]["field"]) == (code, field)
    expected = payload.decode("utf-8", "replace")
    assert rejection["item"] in (expected, json.loads(expected) if code and field else expected)


async def test_an_item_for_a_pool_that_is_not_there_is_refused(alice: Agent, nothing_stored: None) -> None:
    rejections = await alice.nc.subscribe("afterwit.v1.rejected.alice")
    await alice.nc.flush()
    await ingest(alice, b'{"content": "x"}', pool="agent/bob")
    assert loaded((await rejections.next_msg(timeout=30)).data)["error"]["code"] == "not_found"


@pytest.mark.parametrize("pool", ["shared/团队", "shared/a%b"])
async def test_an_item_for_what_cannot_be_a_pool_is_refused(alice: Agent, nothing_stored: None, pool: str) -> None:
    rejections = await alice.nc.subscribe("afterwit.v1.rejected.alice")
    await alice.nc.flush()
    await ingest(alice, b'{"content": "x"}', pool=pool)
    error = loaded((await rejections.next_msg(timeout=20)).data)["error"]
    assert (error["code"], error["detail"]["field"]) == ("invalid", "pool")


async def test_an_item_as_large_as_a_message_can_be_is_refused_and_ends_nothing(
    alice: Agent, nothing_stored: None
) -> None:
    """Beside the reason it is larger than NATS takes, and NATS ends the connection of who tries."""
    rejections = await alice.nc.subscribe("afterwit.v1.rejected.alice")
    await alice.nc.flush()
    await ingest(alice, b"x" * alice.nc.max_payload)
    rejection = loaded((await rejections.next_msg(timeout=20)).data)
    assert (rejection["error"]["code"], rejection["item"]) == ("invalid", None)
    assert (await alice.ask("pools"))["pools"]


async def test_a_refused_item_is_kept_with_the_dead_letters(
    alice: Agent, nothing_stored: None, operator: Client
) -> None:
    before = (await operator.jetstream().stream_info("AFTERWIT_DEAD")).state.messages
    rejections = await alice.nc.subscribe("afterwit.v1.rejected.alice")
    await alice.nc.flush()
    await ingest(alice, b'{"content": ""}')
    await rejections.next_msg(timeout=30)
    assert (await operator.jetstream().stream_info("AFTERWIT_DEAD")).state.messages == before + 1


NOT_ITS_OWN = {
    "another agent's requests": "afterwit.v1.req.bob.store",
    "another agent's ingest": "afterwit.v1.ingest.bob.agent.bob",
    "the log": "afterwit.v1.log.agent.alice.x",
    "notices": "afterwit.v1.changed.agent.alice.episodic.x",
    "rejections": "afterwit.v1.rejected.bob",
    "revocations": "afterwit.v1.revoked.bob",
    "the list of streams": "$JS.API.STREAM.LIST",
    "a stored message": "$JS.API.DIRECT.GET.AFTERWIT_LOG",
    "a stored secret": "$JS.API.DIRECT.GET.KV_AFTERWIT_AGENTS",
    "a new consumer": "$JS.API.CONSUMER.CREATE.AFTERWIT_LOG",
    "a stream's end": "$JS.API.STREAM.DELETE.AFTERWIT_LOG",
    "JetStream's account": "$JS.API.INFO",
    "the server": "$SYS.REQ.SERVER.PING",
    "a bucket": "$KV.AFTERWIT_AGENTS.alice",
    "who serves": "$SRV.PING.afterwit",
    "another inbox": "_INBOX_bob.x",
    "a nodes' inbox": "_INBOX.x",
}


@pytest.mark.parametrize("subject", NOT_ITS_OWN.values(), ids=NOT_ITS_OWN)
async def test_it_may_publish_only_on_its_own_subjects(alice: Agent, nothing_stored: None, subject: str) -> None:
    with pytest.raises((nats.errors.TimeoutError, nats.errors.NoRespondersError)):
        await alice.nc.request(subject, b"{}", timeout=0.3)
    await wait_until(lambda: alice.denied, description="the server says that it is not allowed")
    assert "permissions violation for publish" in alice.denied[0].lower()


NOT_TO_BE_HEARD = [
    "afterwit.v1.changed.agent.bob.>", "afterwit.v1.changed.>", "afterwit.v1.req.>", "afterwit.v1.req.bob.*",
    "afterwit.v1.ingest.>", "afterwit.v1.log.>", "afterwit.v1.rejected.bob", "afterwit.v1.rejected.*", "_INBOX_bob.>",
    "_INBOX.>", "$JS.>", "$KV.>", ">", "*.>",
]  # fmt: skip


@pytest.mark.parametrize("subject", NOT_TO_BE_HEARD)
async def test_it_may_hear_only_what_is_meant_for_it(alice: Agent, subject: str) -> None:
    await alice.nc.subscribe(subject)
    await wait_until(lambda: alice.denied, description="the server says that it is not allowed")
    assert "permissions violation for subscription" in alice.denied[0].lower()


@pytest.mark.parametrize("subject", ["log.agent.alice.x", "ingest.bob.agent.bob", "req.bob.pool_create"])
async def test_an_answer_cannot_be_sent_to_where_it_would_do_something(
    alice: Agent, nothing_stored: None, operator: Client, unused: str, subject: str
) -> None:
    """A client chooses the subject that is answered to; the account's border keeps it among the agents."""
    heard = await operator.subscribe(f"afterwit.v1.{subject}")
    await operator.flush()
    request = json.dumps({"pool": f"shared/{unused}"}).encode()
    await alice.nc.publish("afterwit.v1.req.alice.pool_create", request, reply=f"afterwit.v1.{subject}")
    await alice.nc.flush()
    await wait_until(lambda: _has_pool(alice, f"shared/{unused}"), description="the request was answered")
    with pytest.raises(nats.errors.TimeoutError):
        await heard.next_msg(timeout=0.3)


async def _has_pool(agent: Agent, pool: str) -> bool:
    return pool in [info["pool"] for info in (await agent.ask("pools"))["pools"]]


BAD_TOKENS = {"empty": "", "made up": "aw.alice." + "0" * 64, "no token": "nonsense", "none": None, "sys": "sys"}


@pytest.mark.parametrize("token", BAD_TOKENS.values(), ids=BAD_TOKENS)
async def test_nobody_comes_in_without_a_good_token(afterwit: System, token: str | None) -> None:
    """By the protocol itself: nats-py leaves its socket behind when it is turned away (2.16)."""
    address = urlsplit(afterwit.ready.nats)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        assert (await reader.readline()).startswith(b"INFO ")
        options = {"verbose": False, "auth_token": token} if token is not None else {"verbose": False}
        writer.write(b"CONNECT " + json.dumps(options).encode() + b"\r\nPING\r\n")
        async with asyncio.timeout(30):
            refusal = (await reader.readline()).strip()
        assert refusal in {b"-ERR 'Authorization Violation'", b"-ERR 'Authentication Timeout'"}  # if it stood still
    finally:
        writer.close()
        await writer.wait_closed()
