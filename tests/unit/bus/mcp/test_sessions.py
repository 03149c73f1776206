from __future__ import annotations

from typing import Any, cast

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.types import ASGIApp, Receive, Scope, Send

from afterwit.bus.mcp.sessions import Sessions


class Manager:
    """The SDK's session manager, as far as sessions are ended by it."""

    def __init__(self) -> None:
        self._server_instances: dict[str, Any] = {}
        self.ended: list[str] = []
        self.endpoint: ASGIApp | None = None

    async def request(self, session_id: str, agent: str) -> None:
        """One request comes in, of a session that is open from then on."""
        assert self.endpoint is not None
        self._server_instances[session_id] = object()
        user = AuthenticatedUser(AccessToken(token=f"{agent}'s", client_id=agent, scopes=[], subject=agent))
        headers = [(b"mcp-session-id", session_id.encode())]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers, "user": user}
        await self.endpoint(scope, cast("Receive", None), cast("Send", None))

    async def _discard_session(self, session_id: str, transport: Any) -> None:
        """While one session is ended, the agent ends its others itself, and somebody begins a third."""
        self.ended.append(session_id)
        self._server_instances.clear()
        await self.request("of bob", "bob")


async def served(scope: Scope, receive: Receive, send: Send) -> None:
    """The endpoint behind."""


async def test_a_session_that_ends_while_others_are_ended_is_no_trouble() -> None:
    sessions, manager = Sessions(), Manager()
    manager.endpoint = sessions.watching(served, cast("Any", manager))
    for session_id in ("one", "two", "three"):
        await manager.request(session_id, "alice")
    assert await sessions.look_again("alice", set()) == 1
    assert manager.ended == ["one"]
    assert sessions.of("of bob", "bob").token is not None
