from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference, TextContent, TextResourceContents

from afterwit.bus.mcp.server import MemoryServer
from tests.engines.fake_node import FakeNode

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
SOME_ID = "0190f5fe-0000-7000-8000-000000000000"


async def read(client: Client, uri: str) -> Any:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    assert (content.uri, content.mime_type) == (uri, "application/json")
    return json.loads(content.text)


@ERAS
async def test_the_list_holds_the_overview_and_every_readable_pool(alice: MemoryServer, era: str) -> None:
    async with Client(alice, mode=era) as client:
        listed = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
    assert [r.uri for r in listed] == ["memory://pools", "memory://agent/alice", "memory://shared/team"]
    assert "memory://agent/{agent}/session/{session}" in [t.uri_template for t in templates]


@ERAS
async def test_everything_named_can_be_read(alice: MemoryServer, era: str) -> None:
    async with Client(alice, mode=era) as client:
        stored = await client.call_tool("memory_store", {"content": "x" * 600, "session_id": "s1"})
        memory = stored.structured_content["memory"]
        assert await read(client, memory["uri"]) == memory
        assert [v["version"] for v in (await read(client, memory["uri"] + "/history"))["versions"]] == [1]
        pool = await read(client, "memory://agent/alice")
        assert (pool["role"], pool["counts"], pool["health"]["active"]) == ("owner", {"episodic": 1}, 1)
        assert (len(pool["newest"][0]["content"]), pool["newest"][0]["truncated"]) == (500, True)
        session = await read(client, "memory://agent/alice/session/s1")
        assert [turn["id"] for turn in session["turns"]] == [memory["id"]]
        entity = await read(client, "memory://agent/alice/entity/xx%78")
        assert (entity["name"], entity["meanings"][0]["events"][0]["memory"]["id"]) == ("xxx", memory["id"])
        assert [p["pool"] for p in (await read(client, "memory://pools"))["pools"]] == ["agent/alice", "shared/team"]


@ERAS
async def test_what_is_hidden_reads_like_what_is_not_there(alice: MemoryServer, node: FakeNode, era: str) -> None:
    node.members["shared/secret"] = {"bob"}
    async with Client(alice, mode=era) as client:
        for hidden, absent in (
            ("memory://agent/bob", "memory://agent/nobody"),
            ("memory://shared/secret", "memory://shared/nothing"),
            (f"memory://agent/bob/{SOME_ID}", f"memory://agent/alice/{SOME_ID}"),
            (f"memory://agent/bob/{SOME_ID}/history", f"memory://agent/alice/{SOME_ID}/history"),
            ("memory://agent/bob/session/s1", "memory://agent/nobody/session/s1"),
            ("memory://shared/secret/entity/x", "memory://shared/nothing/entity/x"),
            ("memory://shared/team/entity/x", "memory://shared/team/entity/%FF"),
            ("memory://nonsense", "file:///etc/passwd"),
        ):
            errors = []
            for uri in (hidden, absent):
                with pytest.raises(MCPError) as caught:
                    await client.read_resource(uri)
                errors.append((caught.value.code, caught.value.message.replace(uri, "…")))
            assert errors[0] == errors[1]
            assert errors[0][0] == (-32602 if era == "2026-07-28" else -32002)


@ERAS
async def test_a_prompt_embeds_what_is_remembered(alice: MemoryServer, era: str) -> None:
    async with Client(alice, mode=era) as client:
        stored = await client.call_tool(
            "memory_store", {"content": "The relay hums", "session_id": "s1", "turn": 3, "tags": ["power"]}
        )
        uri = stored.structured_content["memory"]["uri"]
        for name, arguments in (("recall", {"topic": "relay"}), ("look_back", {"session": "s1"})):
            (message,) = (await client.get_prompt(name, arguments)).messages
            assert isinstance(message.content, TextContent)
            assert uri in message.content.text
            assert "The relay hums" in message.content.text
        nothing = (await client.get_prompt("recall", {"topic": "weather"})).messages[0].content
        assert isinstance(nothing, TextContent)
        assert nothing.text.startswith("Nothing is remembered")
        for bad in ({}, {"topic": "x", "colour": "red"}, {"topic": "x", "pool": "nonsense"}):
            with pytest.raises(MCPError) as caught:
                await client.get_prompt("recall", bad)
            assert caught.value.code == -32602


@ERAS
async def test_pool_names_and_tags_complete(alice: MemoryServer, era: str) -> None:
    recall = PromptReference(type="ref/prompt", name="recall")
    pool = ResourceTemplateReference(type="ref/resource", uri="memory://shared/{name}")
    page = ResourceTemplateReference(type="ref/resource", uri="memory://{kind}/{pool}/entity/{entity}")
    async with Client(alice, mode=era) as client:
        given = {"content": "x", "pool": "shared/team", "tags": ["power", "plan"], "entities": ["Ilse Okoro"]}
        await client.call_tool("memory_store", given)

        async def values(ref: Any, name: str, typed: str, **given: str) -> list[str]:
            argument = {"name": name, "value": typed}
            return (await client.complete(ref, argument, context_arguments=given or None)).completion.values

        assert await values(recall, "pool", "te") == ["shared/team"]
        assert await values(recall, "tag", "p", pool="shared/team") == ["plan", "power"]
        assert await values(recall, "tag", "p", pool="shared/unfinish") == []
        assert await values(recall, "topic", "x") == []
        assert await values(page, "entity", "Il", kind="shared", pool="team") == ["Ilse%20Okoro"]
        assert await values(page, "entity", "Il", kind="shared", pool="unfinish") == []
        assert await values(pool, "name", "") == ["team"]
