"""What is wrong is refused with the name of the field, at both doors, and leaves nothing behind."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from tests.engines.agents import Agent, Refused, Reply
from tests.engines.system import System

pytestmark = pytest.mark.usefixtures("nothing_stored")

KIB = 1024
NOBODY = "00000000-0000-4000-8000-000000000000"

BAD_STORES: dict[str, tuple[Reply, str, str]] = {
    "no content": ({}, "invalid", "content"),
    "unknown field": ({"content": "x", "colour": "red"}, "invalid", "colour"),
    "unknown field inside": ({"content": "x", "fact": {"subject": "a", "predicate": "b", "objekt": "c"}},
                             "invalid", "fact.objekt"),
    "a number for a text": ({"content": 17}, "invalid", "content"),
    "a text for a number": ({"content": "x", "importance": "high"}, "invalid", "importance"),
    "a text for a list": ({"content": "x", "tags": "red"}, "invalid", "tags"),
    "a null among tags": ({"content": "x", "tags": ["red", None]}, "invalid", "tags[1]"),
    "an unknown kind": ({"content": "x", "kind": "rumour"}, "invalid", "kind"),
    "an unknown tier": ({"content": "x", "tier": "eternal"}, "invalid", "tier"),
    "an unknown source": ({"content": "x", "source": "reflection"}, "invalid", "source"),
    "somebody else's name": ({"content": "x", "author": "bob"}, "invalid", "author"),
    "an own trust": ({"content": "x", "trust": 1.0}, "invalid", "trust"),
    "importance over 1": ({"content": "x", "importance": 1.01}, "invalid", "importance"),
    "confidence under 0": ({"content": "x", "confidence": -0.1}, "invalid", "confidence"),
    "a negative turn": ({"content": "x", "turn": -1}, "invalid", "turn"),
    "empty": ({"content": ""}, "invalid", "content"),
    "white space": ({"content": " \t\n\u3000"}, "invalid", "content"),
    "NUL": ({"content": "a\0b"}, "invalid", "content"),
    "NUL in a tag": ({"content": "x", "tags": ["a\0b"]}, "invalid", "tags[0]"),
    "content over 64 KiB": ({"content": "x" * (64 * KIB + 1)}, "too_large", "content"),
    "content over 64 KiB in Chinese": ({"content": "字" * (64 * KIB // 3 + 1)}, "too_large", "content"),
    "data over 256 KiB": ({"content": "x", "data": ["y" * (256 * KIB)]}, "too_large", "data"),
    "a time without offset": ({"content": "x", "occurred_at": "2026-05-01T12:00:00"}, "invalid", "occurred_at"),
    "a date for a time": ({"content": "x", "occurred_at": "2026-05-01"}, "invalid", "occurred_at"),
    "no time": ({"content": "x", "expires_at": "tomorrow"}, "invalid", "expires_at"),
    "a session with a space": ({"content": "x", "session_id": "a b"}, "invalid", "session_id"),
    "an id that is none": ({"content": "x", "caused_by": ["7"]}, "invalid", "caused_by[0]"),
    "a cause that nobody knows": ({"content": "x", "caused_by": [NOBODY]}, "invalid", "caused_by"),
    "an empty key": ({"content": "x", "idempotency_key": ""}, "invalid", "idempotency_key"),
}  # fmt: skip

BAD_NAMES = {
    "empty": "", "dot": "a.b", "star": "*", "greater": ">", "space": "a b", "upper case": "Ops", "a slash": "a/b",
    "over-long": "a" * 64, "Cyrillic a": "\u0430lice", "full width": "ｏｐｓ", "final line feed": "ops\n",
    "dash first": "-ops",
    "zero width": "op\u200bs", "dots": "..",
}  # fmt: skip


@pytest.mark.parametrize(("request_", "code", "field"), BAD_STORES.values(), ids=BAD_STORES)
async def test_a_bad_store_over_nats(alice: Agent, request_: Reply, code: str, field: str) -> None:
    with pytest.raises(Refused) as refused:
        await alice.ask("store", **request_)
    assert (refused.value.code, refused.value.field) == (code, field)
    assert field in refused.value.message


@pytest.mark.parametrize(("request_", "code", "field"), BAD_STORES.values(), ids=BAD_STORES)
async def test_a_bad_store_over_mcp(alice: Agent, request_: Reply, code: str, field: str) -> None:
    with pytest.raises(Refused) as refused:
        await alice.tool("memory_store", **request_)
    assert (refused.value.code, refused.value.field) == (code, field)


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
@pytest.mark.parametrize("kind", ["agent", "shared"])
async def test_a_bad_pool_name(alice: Agent, kind: str, name: str) -> None:
    pool = f"{kind}/{name}"
    for refusal in (
        alice.ask("store", content="x", pool=pool),
        alice.tool("memory_store", content="x", pool=pool),
        alice.ask("pool_create", pool=pool),
        alice.ask("pool_grant", pool=pool, agent="bob", role="reader"),
        alice.ask("health", pool=pool),
    ):
        with pytest.raises(Refused) as refused:
            await refusal
        assert (refused.value.code, refused.value.field) == ("invalid", "pool")
    with pytest.raises(Refused) as refused:
        await alice.tool("memory_retrieve", query="x", pools=[pool])
    assert (refused.value.code, refused.value.field) == ("invalid", "pools[0]")


@pytest.mark.parametrize("name", [*BAD_NAMES.values(), "nobody"], ids=[*BAD_NAMES, "unknown"])
async def test_a_bad_agent_name(alice: Agent, pool: str, name: str) -> None:
    with pytest.raises(Refused) as refused:
        await alice.ask("pool_grant", pool=pool, agent=name, role="reader")
    assert (refused.value.code, refused.value.field) == ("invalid", "agent")


BAD_REQUESTS: dict[str, tuple[str, Reply, str]] = {
    "top_k 0": ("retrieve", {"query": "x", "top_k": 0}, "top_k"),
    "top_k 51": ("retrieve", {"query": "x", "top_k": 51}, "top_k"),
    "a blank query": ("retrieve", {"query": " "}, "query"),
    "an unknown profile": ("retrieve", {"query": "x", "profile": "magic"}, "profile"),
    "a range without offset": (
        "retrieve", {"query": "x", "time_range": {"start": "2026-05-01T00:00:00"}}, "time_range.start",
    ),
    "no budget": ("context", {"session_id": "s", "max_tokens": 0}, "max_tokens"),
    "a session that is none": ("context", {"session_id": "a/b"}, "session_id"),
    "nothing to change": ("update", {"id": NOBODY, "expected_version": 1}, ""),
    "version 0": ("update", {"id": NOBODY, "expected_version": 0, "content": "x"}, "expected_version"),
    "blank content": ("update", {"id": NOBODY, "expected_version": 1, "content": " "}, "content"),
    "a relation that is none": ("link", {"source": NOBODY, "target": NOBODY, "rel": "likes"}, "rel"),
    "a link to itself": ("link", {"source": NOBODY, "target": NOBODY, "rel": "supports"}, "target"),
    "forget without a reason": ("forget", {"ids": [NOBODY]}, "reason"),
    "forget without ids": ("forget", {"reason": "x"}, "ids"),
    "a bad effect": ("feedback", {"retrieval_id": "r", "used": [{"id": NOBODY, "effect": "great"}]}, "used[0].effect"),
    "nothing used": ("feedback", {"retrieval_id": "r", "used": []}, "used"),
    "a cursor that is none": ("changes", {"cursor": "yesterday"}, "cursor"),
    "too long a wait": ("changes", {"wait_ms": 30_001}, "wait_ms"),
}  # fmt: skip


@pytest.mark.parametrize(("op", "request_", "field"), BAD_REQUESTS.values(), ids=BAD_REQUESTS)
async def test_a_bad_request_at_both_doors(alice: Agent, op: str, request_: Reply, field: str) -> None:
    for refusal in (alice.ask(op, **request_), alice.tool(f"memory_{op}", **request_)):
        with pytest.raises(Refused) as refused:
            await refusal
        assert (refused.value.code, refused.value.field) == ("invalid", field)


UNKNOWN_IDS: dict[str, tuple[str, Reply]] = {
    "get": ("get", {"id": NOBODY}),
    "get by uri": ("get", {"uri": f"memory://agent/alice/{NOBODY}"}),
    "history": ("history", {"id": NOBODY}),
    "update": ("update", {"id": NOBODY, "expected_version": 1, "content": "x"}),
    "link": ("link", {"source": NOBODY, "target": NOBODY[:-1] + "1", "rel": "supports"}),
    "share": ("share", {"id": NOBODY, "pool": "agent/alice"}),
    "forget": ("forget", {"ids": [NOBODY], "reason": "x"}),
    "feedback": ("feedback", {"retrieval_id": "r", "used": [{"id": NOBODY, "effect": "helped"}]}),
}


@pytest.mark.parametrize(("op", "request_"), UNKNOWN_IDS.values(), ids=UNKNOWN_IDS)
async def test_an_unknown_id(alice: Agent, op: str, request_: Reply) -> None:
    with pytest.raises(Refused) as refused:
        await alice.ask(op, **request_)
    assert refused.value.code == "not_found"


BROKEN: dict[str, tuple[bytes, str]] = {
    "no JSON": (b'{"content": "x"', ""),
    "two documents": (b'{"content": "x"}{}', ""),
    "a list": (b'["x"]', ""),
    "a text": (b'"x"', ""),
    "null": (b"null", ""),
    "invalid UTF-8": (b'{"content": "\xc3\x28"}', ""),
    "UTF-16": ('{"content": "x"}'.encode("utf-16"), ""),
    "a lone surrogate": (b'{"content": "a \\ud83d b"}', "content"),
    "a lone surrogate in a list": (b'{"content": "x", "tags": ["ok", "\\udc00"]}', "tags[1]"),
    "a lone surrogate in data": (b'{"content": "x", "data": {"a": ["\\ud800"]}}', "data.a[0]"),
    "NaN": (b'{"content": "x", "importance": NaN}', ""),
    "deep": (b'{"content": "x", "data": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", ""),
    "nothing at all": (b"", "content"),
}


@pytest.mark.parametrize(("payload", "field"), BROKEN.values(), ids=BROKEN)
async def test_a_payload_that_cannot_be_read(alice: Agent, payload: bytes, field: str) -> None:
    with pytest.raises(Refused) as refused:
        await alice.ask_raw("store", payload)
    assert (refused.value.code, refused.value.field) == ("invalid", field)


async def test_messagepack_that_cannot_be_read(alice: Agent) -> None:
    headers = {"Content-Type": "application/msgpack"}
    answer = await alice.nc.request("afterwit.v1.req.alice.store", b"\xc1", timeout=30, headers=headers)
    assert answer.headers is not None
    assert answer.headers["Nats-Service-Error-Code"] == "invalid"


async def test_a_format_that_is_none_of_ours(alice: Agent) -> None:
    with pytest.raises(Refused) as refused:
        await alice.ask_raw("store", b"<content>x</content>", {"Content-Type": "text/xml"})
    assert (refused.value.code, refused.value.field) == ("invalid", "Content-Type")


async def test_an_operation_that_nobody_serves(alice: Agent) -> None:
    with pytest.raises(Refused) as refused:
        await alice.ask("remember", content="x")
    assert refused.value.code == "not_found"


async def test_an_unknown_tool(alice: Agent) -> None:
    with pytest.raises(MCPError, match="unknown tool 'memory_remember'"):
        await alice.mcp.call_tool("memory_remember", {"content": "x"})


def _call(token: str | None, content: str, path: str = "/mcp-stateless") -> dict[str, Any]:
    """An MCP tool call as bytes on the wire, for what no client library would send."""
    meta = (
        '{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},'
        ' "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}}'
    )
    arguments = f'{{"content": "{content}"}}'
    params = f'{{"name": "memory_store", "arguments": {arguments}, "_meta": {meta}}}'
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "memory_store",
    }
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    return {"content": f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}', "headers": headers}


@pytest.mark.parametrize("path", ["/mcp", "/mcp-stateless"])
@pytest.mark.parametrize("token", [None, "nonsense", "aw.alice." + "0" * 64, "aw.nobody." + "0" * 64])
async def test_a_missing_or_wrong_token(afterwit: System, token: str | None, path: str) -> None:
    async with httpx2.AsyncClient(verify=False, timeout=60) as http:
        answer = await http.post(afterwit.ready.gateways[0] + path, **_call(token, "x"))
    assert answer.status_code == 401
    assert "resource_metadata=" in answer.headers["www-authenticate"]


async def test_a_lone_surrogate_over_mcp(afterwit: System) -> None:
    async with httpx2.AsyncClient(verify=False, timeout=60) as http:
        call = _call(afterwit.token("alice"), "a \\ud83d b")
        answer = await http.post(afterwit.ready.gateways[0] + "/mcp-stateless", **call)
    assert answer.status_code in {200, 400}
    assert "error" in answer.json() or answer.json()["result"]["isError"]
