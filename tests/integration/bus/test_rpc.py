"""Request and reply on a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from nats.aio.client import Client

from afterwit.bus import names, rpc
from afterwit.bus.connection import connect, wait_connected
from afterwit.bus.rpc import Caller, Handler, Requester, RequestServer
from afterwit.schemas import (
    AfterwitError,
    Get,
    GetReply,
    NotFound,
    PoolCreate,
    PoolReply,
    Pools,
    PoolsReply,
    Stale,
    TimedOut,
    TooLarge,
    Unavailable,
)
from afterwit.schemas.codec import JSON, MSGPACK
from tests.engines.nats_server import NatsServer
from tests.engines.waiting import wait_until
from tests.samples import memory, new_id


def serving(nc: Client, **handlers: Handler) -> RequestServer:
    return RequestServer(nc, handlers, components=lambda: {"index": "ok"}, version="1.2.3")


async def create(caller: Caller, request: PoolCreate) -> PoolReply:
    return PoolReply(pool=request.pool)


async def test_a_call_reaches_its_handler_with_the_callers_name(nc: Client) -> None:
    seen: list[tuple[Caller, Any]] = []

    async def handler(caller: Caller, request: PoolCreate) -> PoolReply:
        seen.append((caller, request))
        return PoolReply(pool=request.pool)

    async with serving(nc, pool_create=handler):
        request = PoolCreate(pool="shared/ops", description="operations")
        reply = await Requester(nc).call("alice", "pool_create", request)
    assert reply == PoolReply(pool="shared/ops")
    assert seen == [(Caller("alice"), request)]


@pytest.mark.parametrize(
    ("content_type", "dumps", "loads"),
    [
        (None, json.dumps, json.loads),
        (JSON, json.dumps, json.loads),
        ("Application/JSON; charset=utf-8", json.dumps, json.loads),
        (MSGPACK, msgspec.msgpack.encode, msgspec.msgpack.decode),
    ],
)
async def test_the_reply_has_the_requests_format(
    nc: Client, content_type: str | None, dumps: Callable[[Any], Any], loads: Callable[[bytes], Any]
) -> None:
    payload = dumps({"pool": "shared/ops"})
    headers = {"content-type": content_type} if content_type else None
    async with serving(nc, pool_create=create):
        data = payload.encode() if isinstance(payload, str) else payload
        msg = await nc.request(names.request("alice", "pool_create"), data, timeout=30, headers=headers)
    assert loads(msg.data) == {"pool": "shared/ops"}
    assert msg.headers is not None
    assert msg.headers["Content-Type"] == (MSGPACK if content_type == MSGPACK else JSON)


async def test_an_empty_payload_is_an_empty_request(nc: Client) -> None:
    async def pools(caller: Caller, request: Pools) -> PoolsReply:
        return PoolsReply(pools=())

    async with serving(nc, pools=pools):
        msg = await nc.request(names.request("alice", "pools"), b"", timeout=30)
    assert json.loads(msg.data) == {"pools": []}


@pytest.mark.parametrize(
    ("data", "content_type", "field", "text"),
    [
        (b'{"pool": "shared/ops", "colour": "red"}', JSON, "colour", "unknown field"),
        (b'{"pool": 7}', JSON, "pool", "expected `str`"),
        (b"{}", JSON, "pool", "required"),
        (b'{"pool": "shared/ops"', JSON, "", "not JSON"),
        (b'{"pool": "shared/\xff"}', JSON, "", "not JSON"),
        (b'{"pool": "shared/\\ud800"}', JSON, "pool", "surrogate"),
        (b"\xc1", MSGPACK, "", "not MessagePack"),
        (b"{}", "text/plain", "Content-Type", "text/plain"),
    ],
)
async def test_a_bad_payload_is_invalid_and_the_field_is_named(
    nc: Client, data: bytes, content_type: str, field: str, text: str
) -> None:
    async with serving(nc, pool_create=create):
        subject = names.request("alice", "pool_create")
        msg = await nc.request(subject, data, timeout=30, headers={"Content-Type": content_type})
    assert msg.headers is not None
    assert msg.headers[names.ERROR_CODE] == "invalid"
    decode = msgspec.msgpack.decode if content_type == MSGPACK else json.loads
    error = decode(msg.data)["error"]
    assert error["code"] == "invalid"
    assert error["detail"]["field"] == field
    assert text in error["message"]
    assert msg.headers[names.ERROR] == error["message"]


async def test_an_error_of_the_handler_is_raised_at_the_caller(nc: Client) -> None:
    async def stale(caller: Caller, request: PoolCreate) -> PoolReply:
        raise Stale("somebody was faster\nby a line", current_version=7)

    async with serving(nc, pool_create=stale):
        with pytest.raises(Stale, match="somebody was faster") as caught:
            await Requester(nc).call("alice", "pool_create", PoolCreate(pool="shared/ops"))
    assert caught.value.detail == {"current_version": 7}


async def test_a_fault_of_the_handler_is_internal_and_tells_nothing(nc: Client) -> None:
    async def broken(caller: Caller, request: PoolCreate) -> PoolReply:
        raise RuntimeError("the secret is 1234")

    async with serving(nc, pool_create=broken):
        with pytest.raises(AfterwitError) as caught:
            await Requester(nc).call("alice", "pool_create", PoolCreate(pool="shared/ops"))
    assert caught.value.code == "internal"
    assert "1234" not in str(caught.value.body)


async def test_an_operation_that_nobody_serves_is_not_found(nc: Client) -> None:
    requester = Requester(nc)
    async with serving(nc, pool_create=create):
        with pytest.raises(NotFound, match="no operation 'get'"):
            await requester.call("alice", "get", Get(id=new_id()))
        with pytest.raises(NotFound):
            await requester.call("alice", "fly", Pools())
    with pytest.raises(Unavailable, match="no memory node"):
        await requester.call("alice", "get", Get(id=new_id()))
    with pytest.raises(NotFound):
        await requester.call("alice", "fly", Pools())


async def test_a_slow_answer_times_out_and_a_late_one_disturbs_nobody(nc: Client) -> None:
    gate = asyncio.Event()

    async def slow(caller: Caller, request: PoolCreate) -> PoolReply:
        if request.pool == "shared/slow":
            await gate.wait()
        return PoolReply(pool=request.pool)

    requester = Requester(nc)
    async with serving(nc, pool_create=slow):
        with pytest.raises(TimedOut):
            await requester.call("alice", "pool_create", PoolCreate(pool="shared/slow"), timeout_s=0.1)
        gate.set()
        assert await requester.call("alice", "pool_create", PoolCreate(pool="shared/x")) == PoolReply(pool="shared/x")


async def test_requests_run_side_by_side_and_wait_when_there_are_too_many(
    nc: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc, "_UNDER_WAY", 3)
    go, running, most = asyncio.Event(), 0, 0

    async def work(caller: Caller, request: PoolCreate) -> PoolReply:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await go.wait()
        running -= 1
        return PoolReply(pool=request.pool)

    requester = Requester(nc)
    async with serving(nc, pool_create=work):
        calls = [requester.call("alice", "pool_create", PoolCreate(pool=f"shared/p{n}")) for n in range(20)]
        answering = asyncio.gather(*calls)
        await wait_until(lambda: running == 3, description="as many as there is room for are under way")
        await nc.flush()  # all have been delivered
        go.set()
        replies = await answering
    assert [reply.pool for reply in replies] == [f"shared/p{n}" for n in range(20)]
    assert most == 3


async def test_what_is_over_the_servers_limit_is_too_large_both_ways(nc: Client) -> None:
    async def big(caller: Caller, request: Get) -> GetReply:
        return GetReply(memory=memory("x" * 1_100_000))

    requester = Requester(nc)
    async with serving(nc, get=big, pool_create=create):
        with pytest.raises(TooLarge, match="ask for less"):
            await requester.call("alice", "get", Get(id=new_id()))
        with pytest.raises(TooLarge, match="the request"):
            await requester.call("alice", "pool_create", PoolCreate(pool="shared/x", description="x" * 1_100_000))


async def test_a_request_without_a_reply_subject_is_dropped(nc: Client) -> None:
    calls: list[str] = []

    async def handler(caller: Caller, request: PoolCreate) -> PoolReply:
        calls.append(request.pool)
        return PoolReply(pool=request.pool)

    async with serving(nc, pool_create=handler):
        await nc.publish(names.request("alice", "pool_create"), b'{"pool": "shared/unheard"}')
        await Requester(nc).call("alice", "pool_create", PoolCreate(pool="shared/heard"))
    assert calls == ["shared/heard"]


async def test_leaving_finishes_what_was_taken(nats_server: NatsServer, nc: Client) -> None:
    client = await connect(nats_server.url, name="caller")
    leaving = asyncio.Event()

    async def work(caller: Caller, request: PoolCreate) -> PoolReply:
        await leaving.wait()
        return PoolReply(pool=request.pool)

    requester = Requester(client)
    async with asyncio.TaskGroup() as group, serving(nc, pool_create=work):
        calls = [
            group.create_task(requester.call("alice", "pool_create", PoolCreate(pool=f"shared/p{n}")))
            for n in range(500)
        ]
        await wait_until(lambda: client.stats["out_msgs"] >= 500, description="all requests are written")
        await client.flush()  # the server has passed them on
        asyncio.get_running_loop().call_later(0.05, leaving.set)
    assert {call.result().pool for call in calls} == {f"shared/p{n}" for n in range(500)}
    await client.close()


async def test_the_service_answers_ping_info_and_stats(nc: Client) -> None:
    async with serving(nc, pool_create=create):
        for n in range(10):
            await Requester(nc).call("alice", "pool_create", PoolCreate(pool=f"shared/p{n}"))
        with pytest.raises(AfterwitError):
            await nc_call_invalid(nc)
        ping = json.loads((await nc.request("$SRV.PING.afterwit", b"", timeout=30)).data)
        info = json.loads((await nc.request("$SRV.INFO.afterwit", b"", timeout=30)).data)
        stats = json.loads((await nc.request("$SRV.STATS.afterwit", b"", timeout=30)).data)
    assert (ping["name"], ping["version"]) == ("afterwit", "1.2.3")
    assert info["endpoints"][0]["subject"] == "afterwit.v1.req.*.*"
    data = stats["endpoints"][0]["data"]
    assert data["components"] == {"index": "ok"}
    figures = data["operations"]["pool_create"]
    assert (figures["requests"], figures["errors"]) == (11, 1)
    assert 0 < figures["p50_ms"] <= figures["p99_ms"]


async def nc_call_invalid(nc: Client) -> None:
    await Requester(nc).call("alice", "pool_create", Pools())


async def test_calls_under_way_when_the_server_dies_fail_clearly_and_later_ones_work(
    nats_server: NatsServer, nc: Client
) -> None:
    client = await connect(nats_server.url, name="caller")
    hold = asyncio.Event()

    async def work(caller: Caller, request: PoolCreate) -> PoolReply:
        if request.pool == "shared/held":
            await hold.wait()
        return PoolReply(pool=request.pool)

    requester = Requester(client)
    async with serving(nc, pool_create=work) as server:
        held = asyncio.create_task(requester.call("alice", "pool_create", PoolCreate(pool="shared/held")))
        await wait_until(lambda: server._under_way, description="the request is under way")
        await asyncio.to_thread(nats_server.kill)
        with pytest.raises(TimedOut):
            await asyncio.wait_for(held, 25)  # less than it would wait for an answer
        await asyncio.to_thread(nats_server.start)
        hold.set()
        await wait_connected(nc, 30.0)
        await nc.flush()  # the node's subscriptions are there again
        reply = await requester.call("alice", "pool_create", PoolCreate(pool="shared/after"))
        assert reply.pool == "shared/after"
    await client.close()


def test_only_operations_of_the_contract_can_be_served() -> None:
    with pytest.raises(ValueError, match="fly"):
        RequestServer(Client(), {"fly": create}, components=dict, version="1.0.0")
