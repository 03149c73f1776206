"""The ways in, each of which keeps every byte that comes back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx2
import msgspec
import nats
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference
from nats.aio.client import Client as NatsClient
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from tests.engines.agents import in_own_task
from tests.engines.system import System

Heard = Callable[[str, bytes], None]
"""Gets where something came from, and what."""

ERAS = ("legacy", "2026-07-28")


class Door(Protocol):
    """One way to ask for operations."""

    @property
    def name(self) -> str:
        """What it is called in reports."""
        ...

    async def ask(self, op: str, request: dict[str, Any]) -> bytes:
        """All that came back, headers too."""
        ...


@dataclass
class NatsDoor:
    """Requests over NATS, in one of its two formats."""

    nc: NatsClient
    agent: str
    heard: Heard
    msgpack: bool = False

    @property
    def name(self) -> str:
        return "nats, msgpack" if self.msgpack else "nats"

    async def ask(self, op: str, request: dict[str, Any]) -> bytes:
        data = msgspec.msgpack.encode(request) if self.msgpack else json.dumps(request).encode()
        headers = {"Content-Type": "application/msgpack"} if self.msgpack else None
        subject = f"afterwit.v1.req.{self.agent}.{op}"
        answer = await self.nc.request(subject, data, timeout=60, headers=headers)
        self.heard(self.name, answer.data)
        plain = msgspec.json.encode(msgspec.msgpack.decode(answer.data)) if self.msgpack else answer.data
        return plain + _headers(answer)


@dataclass
class McpDoor:
    """One MCP client of one era. ``heard`` gets the bytes of HTTP itself, streams of notices too."""

    client: Client
    era: str
    tools: dict[str, str]

    @property
    def name(self) -> str:
        return f"mcp, {self.era}"

    async def ask(self, op: str, request: dict[str, Any]) -> bytes:
        result = await self.client.call_tool(self.tools[op], request)
        return result.model_dump_json().encode()

    async def read(self, uri: str) -> bytes:
        try:
            return (await self.client.read_resource(uri, cache_mode="bypass")).model_dump_json().encode()
        except MCPError as e:
            return _refusal(e)

    async def prompt(self, name: str, arguments: dict[str, str]) -> bytes:
        try:
            return (await self.client.get_prompt(name, arguments)).model_dump_json().encode()
        except MCPError as e:
            return _refusal(e)

    async def complete(self, ref: PromptReference | ResourceTemplateReference, name: str, typed: str,
                       given: dict[str, str]) -> bytes:  # fmt: skip
        result = await self.client.complete(ref, {"name": name, "value": typed}, given)
        return result.model_dump_json().encode()

    async def watch(self, uri: str) -> bytes:
        """What is said to the wish to watch; nothing is watched afterwards."""
        try:
            if self.era == "legacy":
                await self.client.subscribe_resource(uri)
                await self.client.unsubscribe_resource(uri)
            else:
                async with self.client.listen(resource_subscriptions=[uri]):
                    pass
        except MCPError as e:
            return _refusal(e)
        return b"watched"

    async def lists(self) -> bytes:
        """Everything that can be listed."""
        client = self.client
        listed = [
            await client.list_resources(cache_mode="bypass"),
            await client.list_resource_templates(cache_mode="bypass"),
            await client.list_tools(cache_mode="bypass"),
            await client.list_prompts(cache_mode="bypass"),
        ]
        return b"\n".join(each.model_dump_json().encode() for each in listed)


@dataclass
class Visitor:
    """An agent with all doors open, and everything that it ever got: (where from, what)."""

    agent: str
    nats: list[NatsDoor] = field(default_factory=list)
    mcp: list[McpDoor] = field(default_factory=list)
    got: list[tuple[str, bytes]] = field(default_factory=list)

    @property
    def nc(self) -> NatsClient:
        return self.nats[0].nc

    async def reconnect(self, system: System) -> None:
        """Over NATS, so that what was granted meanwhile can be heard there."""
        await self.nc.close()
        nc = await _nats(system, self.agent, self.hear)
        for door in self.nats:
            door.nc = nc

    async def close(self) -> None:
        """The connection to NATS; MCP clients are closed by who opened them."""
        await self.nc.close()

    def hear(self, where: str, data: bytes) -> None:
        self.got.append((where, data))


@asynccontextmanager
async def visitor(system: System, agent: str, tools: dict[str, str]) -> AsyncIterator[Visitor]:
    """``agent``, connected over NATS and over MCP in both eras. ``tools`` is from operations to tools."""
    one = Visitor(agent)
    async with AsyncExitStack() as stack:
        nc = await _nats(system, agent, one.hear)
        stack.push_async_callback(one.close)
        one.nats = [NatsDoor(nc, agent, one.hear), NatsDoor(nc, agent, one.hear, msgpack=True)]
        for era in ERAS:
            client = await stack.enter_async_context(in_own_task(_mcp(system, agent, era, one.hear)))
            one.mcp.append(McpDoor(client, era, tools))
        yield one


async def _nats(system: System, agent: str, heard: Heard) -> NatsClient:
    async def on_error(error: Exception) -> None:
        heard("what NATS says", str(error).encode())

    async def take(msg: Msg) -> None:
        heard(f"NATS, {msg.subject}", msg.subject.encode() + b" " + msg.data + _headers(msg))

    nc = await nats.connect(
        system.ready.nats, token=system.token(agent), inbox_prefix=f"_INBOX_{agent}".encode(), error_cb=on_error,
        reconnect_time_wait=0.05,
    )  # fmt: skip
    # All that it is allowed to hear, and a good deal that it is not.
    for subject in (f"_INBOX_{agent}.>", f"afterwit.v1.rejected.{agent}", f"afterwit.v1.changed.agent.{agent}.>",
                    "afterwit.v1.changed.>", "afterwit.v1.rejected.>", "afterwit.v1.>", "$SRV.>", "$SYS.>", "$KV.>",
                    "_INBOX.>", ">"):  # fmt: skip
        await nc.subscribe(subject, cb=take)
    for _ in range(2):  # nats-py's flush overtakes what still waits to be sent (2.16)
        await nc.flush()
    return nc


async def forbidden_questions(visitor: Visitor, subjects: list[str]) -> None:
    """Publish where an agent may not, and wait what comes."""
    for subject in subjects:
        try:
            answer = await visitor.nc.request(subject, b"{}", timeout=0.2)
        except NatsError as e:
            visitor.hear(f"NATS, {subject}", f"{type(e).__name__}".encode())
        else:
            visitor.hear(f"NATS, {subject}", answer.data + _headers(answer))


@asynccontextmanager
async def _mcp(system: System, agent: str, era: str, heard: Heard) -> AsyncIterator[Client]:
    async def on_message(message: Any) -> None:
        heard(f"mcp, {era}, told", repr(message).encode())

    headers = {"Authorization": f"Bearer {system.token(agent)}"}
    url = system.ready.gateways[0] + "/mcp"
    transport = _Tee(heard, f"http, {era}")
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, transport=transport) as http,
        Client(streamable_http_client(url, http_client=http), mode=era, message_handler=on_message) as client,
    ):
        yield client


class _Tee(httpx2.AsyncHTTPTransport):
    """Keeps what a server sends, streams too, as it comes."""

    def __init__(self, heard: Heard, where: str) -> None:
        super().__init__(verify=False)
        self._heard = heard
        self._where = where

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        self._heard(self._where, repr(response.headers).encode())
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _TeeStream(response.stream, self._heard, self._where)
        return response


class _TeeStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, heard: Heard, where: str) -> None:
        self._inner = inner
        self._heard = heard
        self._where = where

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._heard(self._where, chunk)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def _headers(msg: Msg) -> bytes:
    return json.dumps(dict(msg.headers or {})).encode()


def _refusal(error: MCPError) -> bytes:
    return json.dumps({"code": error.error.code, "message": error.error.message, "data": error.error.data}).encode()
