"""Connections to a real server that comes and goes."""

from __future__ import annotations

import asyncio
import json
import time
from functools import partial
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import MaxPayloadError

from afterwit.bus.connection import Connection, Credentials, connect, size_of, wait_connected, watch
from afterwit.schemas import Invalid, Unauthenticated, Unavailable
from tests.engines.nats_server import NatsServer
from tests.engines.ports import free_port
from tests.engines.waiting import wait_until

USERS = 'authorization { users: [{ user: "node", password: "secret" }] }'


async def test_nobody_listening_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="is it running"):
        await connect(f"nats://127.0.0.1:{free_port()}", name="test", timeout_s=0.5)


async def test_a_process_that_stood_still_has_not_waited(nats_server: NatsServer) -> None:
    asyncio.get_running_loop().call_soon(time.sleep, 1.5)
    nc = await connect(nats_server.url, name="test", timeout_s=1.5)
    await nc.close()


@pytest.mark.parametrize("url", ["nats://host:port", "nats://", "", "nats://127.0.0.1:4222,", "nats://[::1"])
async def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="no NATS URL") as refused:
        await connect(url, name="test", timeout_s=0.5)
    assert refused.value.detail["field"] == "nats_url"


async def test_wrong_credentials_are_told_at_once(no_leaks: None, tmp_path: Path) -> None:
    with NatsServer(tmp_path / "nats", extra=USERS) as server:
        with pytest.raises(Unauthenticated):
            await connect(server.url, name="test", credentials=Credentials(user="node", password="wrong"))
        with pytest.raises(Unauthenticated):
            await connect(server.url, name="test")
        file = tmp_path / "node.json"
        file.write_text(json.dumps({"user": "node", "password": "secret"}))
        nc = await connect(server.url, name="test", credentials=Credentials.from_file(file))
        await nc.flush()
        await nc.close()


async def test_a_connection_comes_back_and_says_so(nats_server: NatsServer, nc: Client) -> None:
    events: list[str] = []

    def told(event: str, times: int) -> bool:
        return events.count(event) == times

    def fail() -> None:
        raise RuntimeError("a watcher that fails must not end reconnecting")

    watch(nc, gone=fail, back=fail)
    end = watch(nc, gone=lambda: events.append("gone"), back=lambda: events.append("back"))
    heard: list[bytes] = []

    async def hear(msg: object) -> None:
        heard.append(msg.data)  # type: ignore[attr-defined]

    await nc.subscribe("topic", cb=hear)
    for losses in range(1, 4):
        await asyncio.to_thread(nats_server.kill)
        await wait_until(partial(told, "gone", losses), description="the loss is noticed")
        with pytest.raises(Unavailable):
            await wait_connected(nc, 0.05)
        await asyncio.to_thread(nats_server.start)
        await wait_connected(nc, 30.0)
        await wait_until(partial(told, "back", losses), description="the return is told")
    await nc.publish("topic", b"still here")
    await wait_until(lambda: heard == [b"still here"], description="subscriptions are there again")
    end()
    await asyncio.to_thread(nats_server.restart)
    await wait_connected(nc, 30.0)
    assert events.count("gone") == 3


async def test_what_is_too_large_with_its_headers_is_refused_here(nats_server: NatsServer) -> None:
    """The server would end the connection, for good."""
    nc = await connect(nats_server.url, name="sender")
    heard: list[Msg] = []

    async def hear(msg: Msg) -> None:
        heard.append(msg)

    await nc.subscribe("topic", cb=hear)
    headers = {"Reason": "中文 😀", "Empty": ""}
    room = nc.max_payload - size_of(headers)
    with pytest.raises(MaxPayloadError):
        await nc.publish("topic", bytes(room + 1), headers=headers)
    await nc.publish("topic", bytes(room), headers=headers)
    await wait_until(lambda: [len(msg.data) for msg in heard] == [room], description="what just fits is heard")
    await nc.close()


async def test_one_that_the_server_ends_for_good_is_told_of(no_leaks: None, tmp_path: Path) -> None:
    with NatsServer(tmp_path / "nats") as server:
        nc = await connect(server.url, name="node")
        closed = asyncio.Event()
        watch(nc, closed=closed.set)
        server.reload(USERS)
        async with asyncio.timeout(10):
            await closed.wait()
        assert nc.is_closed


async def test_a_flush_is_a_barrier_for_subscriptions_too(nats_server: NatsServer, nc: Client) -> None:
    """nats-py's own flush overtakes the subscription in one to two of a hundred cases."""
    caller = await connect(nats_server.url, name="caller")

    async def answer(msg: Msg) -> None:
        await msg.respond(msg.data)

    for n in range(300):
        subscription = await nc.subscribe(f"topic.{n}", cb=answer)
        await nc.flush()
        assert (await caller.request(f"topic.{n}", b"there?", timeout=30)).data == b"there?"
        await subscription.unsubscribe()
    await caller.close()


async def test_closing_works_while_the_server_is_away(nats_server: NatsServer) -> None:
    nc = await connect(nats_server.url, name="other")
    await nc.subscribe("topic", cb=_ignore)
    await asyncio.to_thread(nats_server.kill)
    await wait_until(lambda: nc.is_reconnecting, description="the loss is noticed")
    await nc.publish("topic", b"kept for later")
    await nc.close()
    assert nc.is_closed


async def test_closing_while_it_comes_back_leaves_nothing(nats_server: NatsServer) -> None:
    """At whatever moment: each of these is closed a little later than the one before. One that lives on is a leak."""
    connections = [await connect(nats_server.url, name=f"other {n}") for n in range(60)]
    await asyncio.to_thread(nats_server.kill)
    await wait_until(lambda: all(nc.is_reconnecting for nc in connections), description="the loss is noticed")
    await asyncio.to_thread(nats_server.start)

    async def close(n: int, nc: Connection) -> None:
        await asyncio.sleep(n * 0.005)
        await nc.close()

    await asyncio.gather(*(close(n, nc) for n, nc in enumerate(connections)))
    assert all(nc.is_closed for nc in connections)


async def _ignore(_: object) -> None:
    """Hears nothing."""


async def test_an_old_server_is_refused(no_leaks: None) -> None:
    async def old_server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.9.10","max_payload":1048576,"headers":true}\r\n')
        while line := await reader.readline():
            if line.startswith(b"PING"):
                writer.write(b"PONG\r\n")
        writer.close()

    async with await asyncio.start_server(old_server, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unavailable, match=r"2\.9; 2\.11 or later"):
            await connect(f"nats://127.0.0.1:{port}", name="test")


def test_credentials_come_from_either_kind_of_file_and_hide_their_secrets(tmp_path: Path) -> None:
    creds = tmp_path / "user.creds"
    creds.write_text("-----BEGIN NATS USER JWT-----\neyJ0\n------END NATS USER JWT------\n")
    assert Credentials.from_file(creds) == Credentials(creds_file=str(creds))
    secret = tmp_path / "token.json"
    secret.write_text('{"token": "t0ken"}')
    assert Credentials.from_file(secret) == Credentials(token="t0ken")
    assert "t0ken" not in repr(Credentials.from_file(secret))
    for content in ("not json", '{"usr": "x"}', "[]"):
        secret.write_text(content)
        with pytest.raises(Invalid, match=r"token\.json"):
            Credentials.from_file(secret)
    with pytest.raises(Invalid, match=r"missing\.json"):
        Credentials.from_file(tmp_path / "missing.json")
