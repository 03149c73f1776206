from __future__ import annotations

import asyncio
import json

import httpx2
import pytest
from mcp import Client
from mcp.client.subscriptions import ResourceUpdated

from afterwit.bus.mcp.tools import TOOLS
from afterwit.schemas import Store
from tests.engines.fake_system import FakeSystem
from tests.engines.waiting import wait_until
from tests.unit.bus.mcp.test_watching import Inbox, old_protocol

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
PATHS = pytest.mark.parametrize("path", ["/mcp", "/mcp-stateless"])
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}  # fmt: skip
ACCEPT = {"accept": "application/json, text/event-stream"}


@ERAS
@PATHS
async def test_an_agent_stores_and_finds(system: FakeSystem, era: str, path: str) -> None:
    async with system.gateway() as url, system.client(url, "alice", mode=era, path=path) as client:
        assert len((await client.list_tools()).tools) == len(TOOLS)
        stored = await client.call_tool("memory_store", {"content": "The relay hums"})
        found = await client.call_tool("memory_retrieve", {"query": "relay"})
        assert stored.structured_content["memory"]["author"] == "alice"
        assert [i["memory"]["id"] for i in found.structured_content["items"]] == [
            stored.structured_content["memory"]["id"]
        ]


@ERAS
async def test_the_largest_memory_passes(system: FakeSystem, era: str) -> None:
    content, data = "\x01" * 65_536, "x" * 262_000
    async with system.gateway() as url, system.client(url, "alice", mode=era) as client:
        stored = await client.call_tool("memory_store", {"content": content, "data": data})
        assert not stored.is_error
        assert stored.structured_content["memory"]["data"] == data
        over = await client.call_tool("memory_store", {"content": "x" * 65_537})
        assert over.structured_content["error"]["code"] == "too_large"


@PATHS
async def test_without_a_valid_token_nobody_comes_in(system: FakeSystem, path: str) -> None:
    async with system.gateway() as url, httpx2.AsyncClient(timeout=60) as http:
        revoked = system.tokens["carol"]
        await system.agents.revoke("carol")
        for headers in ({}, {"authorization": "Bearer aw.alice." + "0" * 64}, {"authorization": f"Bearer {revoked}"}):
            answer = await http.post(url + path, json=INITIALIZE, headers=headers | ACCEPT)
            assert answer.status_code == 401
            metadata = f"{url}/.well-known/oauth-protected-resource{path}"
            assert f'resource_metadata="{metadata}"' in answer.headers["www-authenticate"]
            assert (await http.get(metadata)).json()["resource"] == url + path


async def test_a_session_is_its_agents_alone(system: FakeSystem) -> None:
    async with system.gateway() as url, httpx2.AsyncClient(timeout=60) as http:
        alice, bob = ({"authorization": f"Bearer {system.tokens[a]}", **ACCEPT} for a in ("alice", "bob"))
        opened = await http.post(url + "/mcp", json=INITIALIZE, headers=alice)
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert (await http.post(url + "/mcp", json=ping, headers=alice | session)).status_code == 200
        assert (await http.post(url + "/mcp", json=ping, headers=bob | session)).status_code == 404


async def test_only_known_names_of_the_gateway_are_answered(system: FakeSystem) -> None:
    async with system.gateway(allowed_hosts=("memory.example",)) as url, httpx2.AsyncClient(timeout=60) as http:
        alice = {"authorization": f"Bearer {system.tokens['alice']}", **ACCEPT}

        async def status(host: str, **more: str) -> int:
            answer = await http.post(url + "/mcp-stateless", json=INITIALIZE, headers=alice | {"host": host} | more)
            return answer.status_code

        port = url.rpartition(":")[2]
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", "memory.example", "memory.example:8443"):
            assert await status(host) == 200
        assert await status("evil.example") == 421
        assert await status(f"127.0.0.1:{port}", origin="http://evil.example") == 403


async def test_white_space_around_a_header_is_none_of_it(system: FakeSystem) -> None:
    body = json.dumps(
        {
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "memory_changes", "arguments": {}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }},
        }
    )  # fmt: skip
    async with system.gateway() as url:
        address = url.removeprefix("http://")
        reader, writer = await asyncio.open_connection(*address.split(":"))
        try:
            head = (
                f"POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {system.tokens['alice']}\r\n"
                f"Accept: {ACCEPT['accept']}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: \t memory_changes \t\r\n\r\n"
            )
            writer.write((head + body).encode())
            said = await reader.read(2000)
            assert b" 200 " in said.partition(b"\r\n")[0], said
        finally:
            writer.close()
            await writer.wait_closed()


async def test_health(system: FakeSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("afterwit.bus.mcp.health._FIRST_ANSWER_S", 30.0)
    async with system.gateway() as url, httpx2.AsyncClient(timeout=60) as http:
        answer = await http.get(url + "/health")
        parts = {"nats": "ok", "index": "ok", "window": "ok", "inference": "ok"}
        assert (answer.status_code, answer.json()) == (200, {"status": "ok", "tools": 11, "components": parts})
        system.components["inference"] = "unavailable"
        answer = await http.get(url + "/health")
        assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
        system.server.stop()
        answer = await http.get(url + "/health")
        assert (answer.status_code, answer.json()["components"]["nats"]) == (503, "unavailable")
        system.server.start()
        await wait_until(lambda: _is_served(http, url), description="the gateway serves again")


async def _is_served(http: httpx2.AsyncClient, url: str) -> bool:
    return (await http.get(url + "/health")).status_code == 200


@ERAS
async def test_a_write_at_one_gateway_is_heard_at_another(system: FakeSystem, era: str) -> None:
    inbox = Inbox()
    with old_protocol():
        async with (
            system.gateway() as one,
            system.gateway() as two,
            system.client(one, "alice", mode=era) as alice,
            system.client(two, "bob", mode=era, message_handler=inbox) as bob,
        ):
            if era == "legacy":
                await bob.subscribe_resource("memory://shared/team")
                await _until_heard(alice, inbox)
            else:
                async with bob.listen(resource_subscriptions=["memory://shared/team"]) as events:
                    await alice.call_tool("memory_store", {"content": "x", "pool": "shared/team"})
                    assert await anext(events) == ResourceUpdated(uri="memory://shared/team")


async def _until_heard(alice: Client, inbox: Inbox) -> None:
    """A notice sent before the handshake client has opened its stream is lost, so tell it until it hears."""

    async def heard() -> bool:
        await alice.call_tool("memory_store", {"content": "x", "pool": "shared/team"})
        return "memory://shared/team" in inbox.uris

    await wait_until(heard, description="the session is told")


async def test_after_a_revocation_nothing_more_is_heard(system: FakeSystem) -> None:
    async with (
        system.gateway() as url,
        system.client(url, "bob", mode="2026-07-28") as bob,
        bob.listen(resource_subscriptions=["memory://shared/team", "memory://agent/bob"]) as events,
    ):
        await system.pools.revoke("shared/team", "bob")
        await system.node.store("alice", Store(content="x", pool="shared/team"))
        await system.node.store("bob", Store(content="y"))
        assert await anext(events) == ResourceUpdated(uri="memory://agent/bob")


async def test_streams_survive_a_restart_of_nats(system: FakeSystem) -> None:
    async with (
        system.gateway() as url,
        system.client(url, "bob", mode="2026-07-28") as bob,
        bob.listen(resource_subscriptions=["memory://shared/team"]) as events,
    ):
        system.server.kill()
        system.server.start()
        assert await anext(events) == ResourceUpdated(uri="memory://shared/team")  # something may have been missed

        async def stored() -> bool:
            return not (await bob.call_tool("memory_store", {"content": "x", "pool": "shared/team"})).is_error

        await wait_until(stored, description="the node is reached again")
        assert await anext(events) == ResourceUpdated(uri="memory://shared/team")


async def test_while_nats_is_away_calls_say_so(system: FakeSystem) -> None:
    async with system.gateway() as url, httpx2.AsyncClient(timeout=60) as http:
        system.server.stop()
        alice = {"authorization": f"Bearer {system.tokens['alice']}", **ACCEPT}
        answer = await http.post(url + "/mcp", json=INITIALIZE, headers=alice)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
        system.server.start()


async def test_open_streams_do_not_delay_the_end(system: FakeSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("afterwit.bus.mcp.gateway._GRACE_S", 3600)  # what is under way would be waited for so long
    inbox = Inbox()
    with old_protocol():
        async with asyncio.timeout(60):
            gateway = system.gateway()
            url = await gateway.__aenter__()
            async with (
                system.client(url, "bob", mode="legacy", message_handler=inbox) as old,
                system.client(url, "alice", mode="2026-07-28") as new,
                new.listen(resource_subscriptions=["memory://agent/alice"]) as events,
            ):
                await old.subscribe_resource("memory://shared/team")
                await _until_heard(new, inbox)
                await gateway.__aexit__(None, None, None)
                left = [event async for event in events]
                assert set(left) <= {ResourceUpdated(uri="memory://agent/alice")}
