"""What was open ends when what it lives on is taken: the token, the agent, or a pool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from mcp.client.subscriptions import ResourceUpdated

from afterwit.bus.revocation import announce
from afterwit.schemas import Store
from tests.engines.fake_system import FakeSystem
from tests.engines.waiting import wait_until

from .test_http import ACCEPT, INITIALIZE

OWN = "memory://agent/alice"
TEAM = "memory://shared/team"


@dataclass
class RawSession:
    """A handshake session by hand, to see what the server itself does."""

    http: httpx2.AsyncClient
    url: str
    id: str

    async def ask(self, token: str, method: str, **params: Any) -> int:
        """The status of one request."""
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not method.startswith("notifications/"):
            body["id"] = method
        return (await self.http.post(self.url, json=body, headers=self._headers(token))).status_code

    @asynccontextmanager
    async def notices(self, token: str) -> AsyncIterator[asyncio.Queue[str | None]]:
        """What comes on the session's stream of notices; None is its end."""
        lines: asyncio.Queue[str | None] = asyncio.Queue()
        opened = asyncio.Event()

        async def read() -> None:
            async with self.http.stream("GET", self.url, headers=self._headers(token)) as stream:
                assert stream.status_code == 200
                opened.set()
                async for line in stream.aiter_lines():
                    if line.startswith("data:"):
                        lines.put_nowait(line)
            lines.put_nowait(None)

        reading = asyncio.create_task(read())
        try:
            await asyncio.wait_for(opened.wait(), 30)
            yield lines
        finally:
            reading.cancel()
            await asyncio.wait((reading,))

    def _headers(self, token: str) -> dict[str, str]:
        return {
            "authorization": f"Bearer {token}",
            "mcp-session-id": self.id,
            "mcp-protocol-version": "2025-11-25",
            **ACCEPT,
        }


@asynccontextmanager
async def raw_session(url: str, token: str) -> AsyncIterator[RawSession]:
    async with httpx2.AsyncClient(timeout=30) as http:
        headers = {"authorization": f"Bearer {token}", **ACCEPT}
        opened = await http.post(url + "/mcp", json=INITIALIZE, headers=headers)
        session = RawSession(http, url + "/mcp", opened.headers["mcp-session-id"])
        assert await session.ask(token, "notifications/initialized") == 202
        yield session


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """All parts of these tests run in this process: one answers for certain, and nobody else later."""
    monkeypatch.setattr("afterwit.bus.revocation._FURTHER_ANSWERS_S", 0.02)
    monkeypatch.setattr("afterwit.bus.revocation._FIRST_ANSWER_S", 30.0)


async def told(system: FakeSystem, agent: str, gateways: int = 1) -> None:
    """That ``agent`` lost something; answered by so many. Who hears it twice looks twice."""

    async def all_answer() -> bool:
        return await announce(system.nc, agent, within_s=60) == gateways

    await wait_until(all_answer, description="every gateway has looked again")


async def test_a_revoked_agents_sessions_and_streams_end(system: FakeSystem) -> None:
    token = system.tokens["alice"]
    async with (
        system.gateway() as one,
        system.gateway() as other,
        raw_session(one, token) as session,
        session.notices(token) as lines,
        system.client(other, "alice", mode="2026-07-28") as client,
        client.listen(resource_subscriptions=[OWN]) as stream,
    ):
        assert await session.ask(token, "resources/subscribe", uri=OWN) == 200
        await system.node.store("alice", Store(content="x"))
        assert OWN in str(await asyncio.wait_for(lines.get(), 30))
        assert await anext(stream) == ResourceUpdated(uri=OWN)
        while not lines.empty():
            lines.get_nowait()
        await system.agents.revoke("alice")
        await told(system, "alice", gateways=2)
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(anext(stream), 30)
        while (line := await asyncio.wait_for(lines.get(), 30)) is not None:
            assert "list_changed" in line  # of the store above
        assert await session.ask(token, "ping") == 401


async def test_without_the_announcement_nothing_comes_through_either(system: FakeSystem) -> None:
    async with (
        system.gateway() as url,
        system.client(url, "alice", mode="2026-07-28") as client,
        system.client(url, "bob", mode="2026-07-28") as other,
        client.listen(resource_subscriptions=[TEAM]) as alices,
        other.listen(resource_subscriptions=[TEAM]) as bobs,
    ):
        await system.agents.revoke("alice")
        await system.node.store("bob", Store(content="x", pool="shared/team"))
        assert await anext(bobs) == ResourceUpdated(uri=TEAM)
        await told(system, "alice")
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(anext(alices), 30)


async def test_a_session_goes_on_with_the_new_token_when_the_old_one_ends(system: FakeSystem) -> None:
    old = system.tokens["alice"]
    async with system.gateway() as url, raw_session(url, old) as moved, raw_session(url, old) as left:
        new = await system.agents.rotate("alice", grace_s=3600)
        await told(system, "alice")
        assert await moved.ask(old, "ping") == 200  # the grace: nobody is cut off
        async with moved.notices(old) as lines:
            assert await moved.ask(new, "resources/subscribe", uri=OWN) == 200
            assert await left.ask(old, "ping") == 200
            newer = await system.agents.rotate("alice", grace_s=3600)  # ends the first one
            await told(system, "alice")
            assert await asyncio.wait_for(lines.get(), 30) is None
        assert await moved.ask(old, "ping") == 401
        assert await left.ask(new, "ping") == 404
        async with moved.notices(newer) as lines:
            await system.node.store("alice", Store(content="x"))
            assert OWN in str(await asyncio.wait_for(lines.get(), 30))


async def test_streams_end_with_their_token_on_time(system: FakeSystem) -> None:
    old = system.tokens["alice"]
    async with (
        system.gateway() as url,
        system.client(url, "alice", mode="2026-07-28") as client,
        raw_session(url, old) as session,
        client.listen(resource_subscriptions=[OWN]) as stream,
    ):
        await system.agents.rotate("alice", grace_s=1)
        await told(system, "alice")
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(anext(stream), 30)

        async def refused() -> bool:
            return await session.ask(old, "ping") == 401

        await wait_until(refused, description="the token is good no more")


async def test_nobody_is_waited_for_where_there_is_no_gateway(system: FakeSystem) -> None:
    assert await announce(system.nc, "alice") == 0
