"""The one place that reaches behind the SDK's door, for what has no public name in mcp 2.3.

`ServerRequestContext` is per request; what outlives it (scratch state, teardown, whether the client can be reached
without a request) is on the connection. To be replaced when the SDK's announced `Context.connection` reaches handlers.
And the session manager does not tell which sessions are open. Pinned by tests/unit/bus/mcp/test_connection.py.
"""

from __future__ import annotations

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
