"""What an operator asks of nodes: any one of them answers. Only the operator's user may ask (see `identity.parts`)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from ..schemas import AfterwitError, ErrorReply, Internal, NotFound, TimedOut, TooLarge, Unavailable
from ..schemas.codec import JSON, decode, encode
from . import names
from .connection import unsubscribe

_QUEUE: Final = "admin"
_BEAT_S: Final = 2.0
"""How often whoever is about a task says so: a rebuilding may take an hour, and nobody waits so long for the dead."""
_SILENT_S: Final = 15.0

R = TypeVar("R", bound=msgspec.Struct)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Task:
    """Something that an operator may ask for: with which request, and who does it."""

    request: type[msgspec.Struct]
    handler: Callable[[Any], Awaitable[msgspec.Struct]]


class AdminServer:
    """Answers while its context lasts; what is under way at its end is broken off. Payloads are JSON.

    Until it has an answer it gives a sign of life every ``beat_s``.
    """

    def __init__(self, nc: Client, tasks: Mapping[str, Task], *, beat_s: float = _BEAT_S) -> None:
        self._nc = nc
        self._beat_s = beat_s
        self._known = tasks
        self._under_way = asyncio.TaskGroup()
        self._running: set[asyncio.Task[None]] = set()
        self._subscription: Subscription | None = None

    async def __aenter__(self) -> Self:
        await self._under_way.__aenter__()
        self._subscription = await self._nc.subscribe(names.ADMIN_SUBJECTS, queue=_QUEUE, cb=self._accept)
        await self._nc.flush()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._subscription is not None
        await unsubscribe(self._subscription)
        for task in self._running:
            task.cancel()
        await self._under_way.__aexit__(None, None, None)

    async def _accept(self, msg: Msg) -> None:
        task = self._under_way.create_task(self._serve(msg), name=f"admin {msg.subject}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _serve(self, msg: Msg) -> None:
        headers: dict[str, str] = {}
        beating = asyncio.create_task(self._beat(msg.reply), name=f"admin {msg.subject}: signs of life")
        try:
            task = self._known.get(msg.subject.rpartition(".")[2])
            if task is None:
                raise NotFound(f"there is no task {msg.subject!r}")
            data = encode(await task.handler(decode(msg.data, task.request, JSON)), JSON)
            limit = self._nc.max_payload - names.HEADER_ALLOWANCE
            if len(data) > limit:
                raise TooLarge(
                    f"it was done, but the reply takes {len(data)} bytes and may take {limit}: ask for less at once",
                    field="",
                    limit_bytes=limit,
                )
        except AfterwitError as e:
            headers, data = _failed(e)
        except Exception:
            log.exception("%s failed", msg.subject)
            headers, data = _failed(Internal("the node failed; its log has the details"))
        finally:
            beating.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await beating
        await self._send(msg.reply, data, headers)

    async def _beat(self, inbox: str) -> None:
        while True:
            await asyncio.sleep(self._beat_s)
            await self._send(inbox, b"", {names.AT_WORK: "yes"})

    async def _send(self, inbox: str, data: bytes, headers: dict[str, str]) -> None:
        try:
            await self._nc.publish(inbox, data, headers=headers)
        except nats.errors.Error as error:
            log.warning("an operator cannot be answered: %s", error)


def _failed(error: AfterwitError) -> tuple[dict[str, str], bytes]:
    return {names.ERROR_CODE: error.code}, encode(ErrorReply(error=error.body), JSON)


async def ask(
    nc: Client, what: str, request: msgspec.Struct, reply: type[R], *, timeout_s: float, silent_s: float = _SILENT_S
) -> R:
    """Ask a node for ``what``.

    Raises:
        AfterwitError: what the node answered; or `Unavailable` if none is there, `TimedOut` if it did not answer within
            ``timeout_s``, or gave no sign of life for ``silent_s``.
    """
    inbox = nc.new_inbox()
    heard = await nc.subscribe(inbox)
    try:
        await nc.publish(names.admin(what), encode(request, JSON), reply=inbox)
        return decode(await _answer(heard, timeout_s, silent_s), reply, JSON)
    finally:
        await unsubscribe(heard)


async def _answer(heard: Subscription, timeout_s: float, silent_s: float) -> bytes:
    deadline = time.monotonic() + timeout_s
    while (left := deadline - time.monotonic()) > 0:
        try:
            msg = await heard.next_msg(min(silent_s, left))
        except nats.errors.TimeoutError as e:
            if silent_s < left:
                raise TimedOut(
                    f"the node that was asked gave no sign of life for {silent_s:g} s; see `afterwit doctor`, ask again"
                ) from e
            break
        headers = msg.headers or {}
        if headers.get("Status") == "503":
            raise Unavailable("no memory node is running; see `afterwit doctor`")
        if names.ERROR_CODE in headers:
            raise AfterwitError.from_body(decode(msg.data, ErrorReply, JSON).error)
        if names.AT_WORK not in headers:
            return msg.data
    raise TimedOut(f"no answer within {timeout_s:g} s; it may go on, see the node's log")
