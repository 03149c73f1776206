from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import RequestParamsMeta, TextContent

from afterwit.bus.mcp.server import MemoryServer
from afterwit.bus.mcp.tools import TOOLS
from afterwit.schemas import Unavailable
from tests.engines.fake_node import FakeNode

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])


@ERAS
async def test_the_tools_listed_are_the_ones_that_work(alice: MemoryServer, era: str) -> None:
    async with Client(alice, mode=era) as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [
        "memory_store", "memory_retrieve", "memory_context", "memory_trace", "memory_update", "memory_link",
        "memory_share", "memory_reflect", "memory_forget", "memory_feedback", "memory_changes",
    ]  # fmt: skip
    for tool in tools:
        assert tool.title
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.open_world_hint is False
        assert tool.annotations.destructive_hint is (tool.name == "memory_forget")
        assert tool.output_schema is not None
        Draft202012Validator.check_schema(tool.input_schema)
        Draft202012Validator.check_schema(tool.output_schema)


def test_reading_tools_say_so() -> None:
    assert {tool.name for tool in TOOLS if tool.read_only} == {
        "memory_retrieve", "memory_context", "memory_trace", "memory_changes",
    }  # fmt: skip


@ERAS
async def test_a_result_is_structured_and_the_same_as_text(alice: MemoryServer, era: str) -> None:
    async with Client(alice, mode=era) as client:
        stored = await client.call_tool("memory_store", {"content": "The relay hums", "data": {"hz": 50, "note": None}})
        found = await client.call_tool("memory_retrieve", {"query": "relay"})
    assert not stored.is_error
    assert stored.structured_content["memory"]["pool"] == "agent/alice"
    assert stored.structured_content["memory"]["data"] == {"hz": 50, "note": None}
    assert found.structured_content["items"][0]["memory"]["content"] == "The relay hums"
    for result in (stored, found):
        (block,) = result.content
        assert isinstance(block, TextContent)
        assert json.loads(block.text) == result.structured_content


@ERAS
async def test_a_result_leaves_out_what_has_no_value(alice: MemoryServer, era: str) -> None:
    async with Client(alice, mode=era) as client:
        memory = (await client.call_tool("memory_store", {"content": "x"})).structured_content["memory"]
    assert not memory.keys() & {"data", "session_id", "turn", "fact", "expires_at"}
    assert (memory["tags"], memory["status"], memory["pinned"]) == ([], "active", False)


def test_what_may_have_no_value_is_not_required() -> None:
    def check(schema: Any) -> None:
        if isinstance(schema, list):
            for part in schema:
                check(part)
        if isinstance(schema, dict):
            assert "$ref" not in schema  # some hosts do not follow them
            for name in schema.get("required", ()):
                assert {"type": "null"} not in schema["properties"][name].get("anyOf", ())
            for part in schema.values():
                check(part)

    for tool in TOOLS:
        check(tool.definition().output_schema)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"content": "x", "colour": "red"}, "colour"),
        ({}, "content"),
        ({"content": "  "}, "content"),
        ({"content": "x", "importance": 2}, "importance"),
        ({"content": "x", "pool": "shared/a.b"}, "pool"),
        ({"content": "x", "occurred_at": "2026-01-01T00:00:00"}, "occurred_at"),
        ({"content": 7}, "content"),
    ],
)
@ERAS
async def test_bad_arguments_are_an_error_that_names_the_field(
    alice: MemoryServer, node: FakeNode, era: str, arguments: dict[str, Any], field: str
) -> None:
    async with Client(alice, mode=era) as client:
        result = await client.call_tool("memory_store", arguments)
    assert result.is_error
    error = result.structured_content["error"]
    assert (error["code"], error["detail"]["field"]) == ("invalid", field)
    assert not node.memories


@ERAS
async def test_what_the_node_refuses_is_a_result_too(alice: MemoryServer, node: FakeNode, era: str) -> None:
    async with Client(alice, mode=era) as client:
        hidden = await client.call_tool("memory_store", {"content": "x", "pool": "shared/elsewhere"})
        node.failure = Unavailable("no memory node is serving store")
        away = await client.call_tool("memory_store", {"content": "x"})
    assert hidden.structured_content["error"]["code"] == "not_found"
    assert away.is_error
    assert away.structured_content["error"]["code"] == "unavailable"


@ERAS
async def test_an_unknown_tool_is_a_protocol_error(alice: MemoryServer, era: str) -> None:
    async with Client(alice, mode=era) as client:
        with pytest.raises(MCPError, match="unknown tool 'memory_dream'") as caught:
            await client.call_tool("memory_dream", {})
    assert caught.value.code == -32602


async def test_the_trace_goes_on_to_the_node(alice: MemoryServer, node: FakeNode) -> None:
    meta: RequestParamsMeta = {}
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    meta["traceparent"] = parent  # type: ignore[typeddict-unknown-key]  # open in the protocol, closed in its type
    async with Client(alice, mode="2026-07-28") as client:
        await client.call_tool("memory_changes", {}, meta=meta)
    (call,) = node.calls
    assert call[3] == parent.split("-")[1]
