"""Which token each handshake session shows, so that what a token opened does not outlive it."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from ..identity import digest
from ._connection import end_notice_stream, end_session, session_ids
from .access import Credential
from .auth import bearer_credential


@dataclass(slots=True)
class _Shown:
    """What came with the session's last request, and with the one that opened its stream of notices."""

    last: Credential
    stream: Credential | None = None


class Sessions:
    """The handshake sessions of one endpoint. `watching` goes around the endpoint, inside of authentication."""

    def __init__(self) -> None:
        self._shown: dict[str, _Shown] = {}
        self._manager: StreamableHTTPSessionManager | None = None

    def watching(self, endpoint: ASGIApp, manager: StreamableHTTPSessionManager) -> ASGIApp:
        """``endpoint``, which ``manager`` serves, with a note of each request's token."""
        self._manager = manager

        async def noting(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and isinstance(user := scope.get("user"), AuthenticatedUser):
                self._note(Request(scope), user)
            await endpoint(scope, receive, send)

        return noting

    def now(self) -> Credential:
        """What the request under way shows."""
        return bearer_credential()

    def of(self, session_id: str, agent: str) -> Credential:
        """The token by which the session hears notices, or else the last one that it showed."""
        shown = self._shown.get(session_id)
        return Credential(agent) if shown is None else shown.stream or shown.last

    async def look_again(self, agent: str, live: AbstractSet[str]) -> int:
        """Only the tokens in ``live`` (digests) are still ``agent``'s: end what others opened; how many sessions ended.

        A session whose client has gone on to a good token goes on. A stream of notices that the old token opened ends;
        the client opens it again.
        """
        assert self._manager is not None
        self._forget_ended()
        ended = 0
        for session_id, shown in list(self._shown.items()):
            if shown.last.agent != agent or session_id not in self._shown:  # it may have ended meanwhile
                continue
            if shown.last.token not in live:
                del self._shown[session_id]
                await end_session(self._manager, session_id)
                ended += 1
            elif shown.stream is not None and shown.stream.token not in live:
                shown.stream = None
                end_notice_stream(self._manager, session_id)
        return ended

    def _note(self, request: Request, user: AuthenticatedUser) -> None:
        session_id = request.headers.get(MCP_SESSION_ID_HEADER)
        token = user.access_token
        if session_id is None or self._manager is None or session_id not in session_ids(self._manager):
            return
        shown = Credential(token.client_id, digest(token.token))
        known = self._shown.get(session_id)
        if known is None:
            self._forget_ended()
            known = self._shown[session_id] = _Shown(shown)
        if known.last.agent != shown.agent:
            return  # somebody else's session: it will be told that there is none
        known.last = shown
        if request.method == "GET":
            known.stream = shown

    def _forget_ended(self) -> None:
        assert self._manager is not None
        open_now = session_ids(self._manager)
        if len(self._shown) > len(open_now):
            self._shown = {session_id: shown for session_id, shown in self._shown.items() if session_id in open_now}
