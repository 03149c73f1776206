"""Whether a part answers. Each is one quick question; failing to connect is an `OSError`."""

from __future__ import annotations

import asyncio
import socket
from typing import Any
from urllib.parse import urlsplit

import msgspec
from nats.aio.client import Client as Nats
from nats.errors import TimeoutError as NatsTimeout

from ..bus import names
from ..bus.connection import unsubscribe

_REPLY_WITHIN_S = 1.0
_FIRST_REPLY_WITHIN_S = 5.0
"""To count nodes: where none serves the server says so at once, so whoever is silent may just be standing still."""


async def nats_answers(host: str, port: int) -> bool:
    """Whether a NATS server greets."""
    return (await _first_bytes(host, port, b"", 4)) == b"INFO"


async def valkey_answers(port: int, password: str) -> bool:
    """Whether a Valkey server on this machine accepts the password and answers a ping."""
    reply = await _first_bytes("127.0.0.1", port, f"AUTH {password}\r\nPING\r\n".encode(), len(b"+OK\r\n+PONG\r\n"))
    return reply == b"+OK\r\n+PONG\r\n"


async def node_answers(nc: Nats, pid: int | None = None) -> bool:
    """Whether a memory node of this machine takes requests: the one that is process ``pid``, or any."""
    inbox = nc.new_inbox()
    replies = await nc.subscribe(inbox)
    try:
        await nc.publish(names.SERVICE_PING, reply=inbox)
        while True:
            message = await replies.next_msg(timeout=_REPLY_WITHIN_S)
            if not message.data:  # the server says that nobody is there
                return False
            metadata = msgspec.json.decode(message.data).get("metadata") or {}
            if metadata.get("host") == socket.gethostname() and pid in (None, int(metadata.get("pid", 0))):
                return True
    except NatsTimeout:
        return False
    finally:
        await unsubscribe(replies)


async def count_nodes(nc: Nats) -> int:
    """How many memory nodes answer a ping."""
    inbox, found, wait_s = nc.new_inbox(), 0, _FIRST_REPLY_WITHIN_S
    replies = await nc.subscribe(inbox)
    try:
        await nc.publish(names.SERVICE_PING, reply=inbox)
        while True:
            message = await replies.next_msg(timeout=wait_s)
            if not message.data:  # the server says that nobody is there
                return 0
            found, wait_s = found + 1, _REPLY_WITHIN_S
    except NatsTimeout:
        return found
    finally:
        await unsubscribe(replies)


async def gateway_health(url: str) -> tuple[int, dict[str, Any]]:
    """The status and the body of ``GET url``; ``url`` is plain HTTP.

    Raises:
        OSError: nobody answers HTTP there.
    """
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    try:
        request = f"GET {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n"
        writer.write(request.encode())
        head, _, body = (await reader.read(65_536 * 4)).partition(b"\r\n\r\n")
        body += await reader.read()
    finally:
        writer.close()
    words = head.split(b" ", 2)
    if len(words) < 3 or not words[1].isdigit():
        raise ConnectionError(f"{url} does not speak HTTP")
    try:
        decoded = msgspec.json.decode(body)
    except msgspec.DecodeError:
        decoded = {}
    return int(words[1]), decoded if isinstance(decoded, dict) else {}


async def _first_bytes(host: str, port: int, send: bytes, count: int) -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(send)
        return await reader.readexactly(count)
    except asyncio.IncompleteReadError as e:
        return e.partial
    finally:
        writer.close()
