"""The one place that reaches behind the SDK's door, for what has no public name in mcp 2.3.

`ServerRequestContext` is per request; what outlives it (scratch state, teardown, whether the client can be reached
without a request) is on the connection. To be replaced when the SDK's announced `Context.connection` reaches handlers.
And the session manager does not tell which sessions are open, nor end one.
Pinned by tests/unit/bus/mcp/test_connection.py.
"""

from __future__ import annotations

from collections.abc import KeysView
from typing import Any

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


def connection_of(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """The connection on which ``ctx``'s request came in."""
    return ctx.session._connection  # see above; pinned by tests/unit/bus/mcp/test_connection.py


def end_notice_streams(manager: StreamableHTTPSessionManager) -> None:
    """End the streams on which the handshake sessions of ``manager`` wait for notices, and nothing else of theirs."""
    for transport in list(manager._server_instances.values()):  # see above
        transport.close_standalone_sse_stream()


def session_ids(manager: StreamableHTTPSessionManager) -> KeysView[str]:
    """The ids of the handshake sessions that are open now."""
    return manager._server_instances.keys()


def end_notice_stream(manager: StreamableHTTPSessionManager, session_id: str) -> None:
    """End the stream on which one session waits for notices; its client may open another."""
    if (transport := manager._server_instances.get(session_id)) is not None:
        transport.close_standalone_sse_stream()


async def end_session(manager: StreamableHTTPSessionManager, session_id: str) -> None:
    """End one session, with everything that is under way in it."""
    if (transport := manager._server_instances.get(session_id)) is not None:
        await manager._discard_session(session_id, transport)
