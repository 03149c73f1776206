"""Pins the one private part of the SDK that the gateway stands on, so that an upgrade that moves it is seen here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from mcp import Client
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import ListToolsResult

from afterwit.bus.mcp._connection import (
    connection_of,
    end_notice_stream,
    end_notice_streams,
    end_session,
    session_ids,
)


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_requests_connection_has_state_and_teardown(era: str) -> None:
    seen: list[Connection] = []
    ended: list[bool] = []

    async def listed(ctx: Any, params: Any) -> Any:
        connection = connection_of(ctx)
        if not connection.state:
            connection.state["mark"] = True
            connection.exit_stack.callback(ended.append, True)
        seen.append(connection)
        return ListToolsResult(tools=[])

    async with Client(Server("probe", on_list_tools=listed), mode=era) as client:
        await client.list_tools(cache_mode="bypass")
        await client.list_tools(cache_mode="bypass")
        assert all(isinstance(connection, Connection) for connection in seen)
        if era == "legacy":
            assert seen[0] is seen[1]
            assert seen[0].has_standalone_channel
            assert not ended
    assert ended


def test_the_session_manager_keeps_its_sessions_where_we_look() -> None:
    manager = StreamableHTTPSessionManager(Server("probe"))
    end_notice_streams(manager)
    ended: list[bool] = []
    session: Any = SimpleNamespace(close_standalone_sse_stream=lambda: ended.append(True))
    manager._server_instances["one"] = session
    end_notice_streams(manager)
    assert ended == [True]
    assert hasattr(StreamableHTTPServerTransport, "close_standalone_sse_stream")
    end_notice_stream(manager, "one")
    end_notice_stream(manager, "another")
    assert ended == [True, True]
    assert list(session_ids(manager)) == ["one"]


async def test_a_session_can_be_ended_by_its_id() -> None:
    manager = StreamableHTTPSessionManager(Server("probe"))
    transport = StreamableHTTPServerTransport(mcp_session_id="one")
    manager._server_instances["one"] = transport
    await end_session(manager, "one")
    await end_session(manager, "one")
    assert transport.is_terminated
    assert not session_ids(manager)
