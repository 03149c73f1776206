"""The one place that reaches behind the SDK's door: a request's connection has no public name in mcp 2.3.

`ServerRequestContext` is per request; what outlives it (scratch state, teardown, whether the client can be reached
without a request) is on the connection. To be replaced when the SDK's announced `Context.connection` reaches handlers.
"""

from __future__ import annotations

from typing import Any

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext


def connection_of(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """The connection on which ``ctx``'s request came in."""
    return ctx.session._connection  # see above; pinned by tests/unit/bus/mcp/test_connection.py
