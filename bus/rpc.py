"""Request and reply over NATS: the node's side and the caller's.

The caller's identity is the subject's token, which its credentials allow; nothing in a payload is asked for it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final

import msgspec
import nats.errors
import nats.micro
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.micro.request import Request
from nats.micro.service import EndpointStats, Service, ServiceConfig

from ..schemas import (
    OPERATIONS,
    AfterwitError,
    ErrorReply,
    Internal,
    Invalid,
    NotFound,
    TimedOut,
    TooLarge,
    Unavailable,
)
from ..schemas.codec import JSON, MSGPACK, convert, decode, encode
from ..schemas.words import AgentName
from . import instrumentation, names
from ._latency import Latencies
from .headers import content_type_of, header
from .mailbox import NoAnswer, NobodyThere, Question, mailbox_of

DEFAULT_TIMEOUT_S: Final = 30.0

_UNDER_WAY: Final = 256
_DRAIN_S: Final = 10.0
_LONGEST_HEADER: Final = 500

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. A handler may add to ``afterwards`` what is to be done once the answer has gone out."""

    agent: str
    afterwards: list[Callable[[], Awaitable[None]]] = field(default_factory=list, compare=False, repr=False)


Handler = Callable[[Caller, Any], Awaitable[msgspec.Struct]]
"""Gets the decoded request, returns the operation's reply, or raises an `AfterwitError`."""


def process_metadata() -> dict[str, str]:
    """Which process answers: a supervisor knows its own by it in the answer to a ping."""
    return {"pid": str(os.getpid()), "host": socket.gethostname()}


class RequestServer:
    """Serves operations, as the NATS micro service `names.SERVICE`, while its context lasts.

    Requests run side by side, up to 256; beyond that they queue, and other nodes of the queue group take new ones. On
    leaving, no more are taken and those under way have ten seconds to end.

    ``components`` tells how the node's parts are doing and ``work`` how much it has done beside requests, for
    ``$SRV.STATS``, whose ``data`` is
    ``{"components": {part: state}, "work": {what: count}, "operations": {op: {requests, errors, p50_ms, p99_ms}}}``.
    """

    def __init__(
        self,
        nc: Client,
        handlers: Mapping[str, Handler],
        *,
        components: Callable[[], dict[str, str]],
        version: str,
        work: Callable[[], dict[str, int]] = dict,
    ) -> None:
        unknown = handlers.keys() - OPERATIONS.keys()
        if unknown:
            raise ValueError(f"no such operations: {', '.join(sorted(unknown))}")
        self._nc = nc
        self._handlers = handlers
        self._components = components
        self._work = work
        self._version = version
        self._latencies = Latencies()
        self._room = asyncio.Semaphore(_UNDER_WAY)
        self._under_way: set[asyncio.Task[None]] = set()
        self._tasks = asyncio.TaskGroup()
        self._exit = AsyncExitStack()
        self._service: Service | None = None

    async def __aenter__(self) -> RequestServer:
        await self._exit.enter_async_context(self._tasks)
        config = ServiceConfig(
            name=names.SERVICE,
            version=self._version,
            description="Shared memory for agents",
            metadata=process_metadata(),
            stats_handler=self._statistics,
        )
        self._service = await nats.micro.add_service(self._nc, config)
        await self._service.add_endpoint(name="requests", subject=names.REQUESTS, handler=self._accept)
        await self._nc.flush()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop_taking()
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=_DRAIN_S)
            for task in late:
                log.warning("%s did not end in time and is cancelled", task.get_name())
                task.cancel()
        await self._exit.aclose()

    async def _stop_taking(self) -> None:
        """Leave the queue group, and take up what has been delivered already."""
        assert self._service is not None
        try:
            async with asyncio.timeout(_DRAIN_S):
                for endpoint in self._service._endpoints:
                    # nats-py's own stop() throws away requests that were delivered and not yet begun (2.16).
                    if endpoint._subscription is not None:
                        await endpoint._subscription.drain()
                self._service._endpoints = []
                await self._service.stop()
        except (nats.errors.Error, OSError, TimeoutError) as e:
            log.warning("leaving the service: %s", e)

    async def _accept(self, request: Request) -> None:
        """Begin one request. Called one after the other, so waiting here is back-pressure."""
        await self._room.acquire()
        msg = request._msg
        task = self._tasks.create_task(self._serve(msg), name=f"request {msg.subject}")
        self._under_way.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._room.release()

    async def _serve(self, msg: Msg) -> None:
        begun = time.perf_counter()
        if not msg.reply:
            log.info("a request on %s without a reply subject is dropped", msg.subject)
            return
        agent, op = names.parse_request(msg.subject)
        caller = Caller(agent)
        content_type = JSON
        failed = False
        headers: dict[str, str] = {}
        try:
            content_type = content_type_of(msg.headers)
            with instrumentation.serving(agent, op, msg.headers):
                data = encode(await self._handle(caller, op, msg, content_type), content_type)
                if len(data) > self._limit:
                    raise TooLarge(
                        f"the reply takes {len(data)} bytes and may take {self._limit}: ask for less at once",
                        field="",
                        limit_bytes=self._limit,
                    )
        except AfterwitError as e:
            failed = True
            headers, data = self._error(e, content_type)
        except Exception:
            failed = True
            log.exception("%s failed", op)
            headers, data = self._error(Internal("the node failed; its log has the details"), content_type)
        try:
            await self._nc.publish(msg.reply, data, headers=headers | {names.CONTENT_TYPE: content_type})
        except nats.errors.Error as e:
            log.warning("the reply to %s cannot be sent: %s", op, e)
        if op in self._handlers:
            self._latencies.record(op, time.perf_counter() - begun, failed=failed)
        if caller.afterwards:
            await self._follow(caller, op)

    async def _follow(self, caller: Caller, op: str) -> None:
        try:
            await self._nc.flush()
            for work in caller.afterwards:
                await work()
        except Exception:  # the root of this task
            log.exception("what follows %s failed", op)

    async def _handle(self, caller: Caller, op: str, msg: Msg, content_type: str) -> msgspec.Struct:
        handler = self._handlers.get(op)
        if handler is None:
            raise NotFound(f"there is no operation {op!r}; there are {', '.join(sorted(self._handlers))}")
        convert(caller.agent, AgentName)  # no agent's credentials allow another form, but a node's would
        data = msg.data or encode({}, content_type)
        request = decode(data, OPERATIONS[op].request, content_type)
        instrumentation.about(request)
        return await handler(caller, request)

    def _error(self, error: AfterwitError, content_type: str) -> tuple[dict[str, str], bytes]:
        headers = {names.ERROR_CODE: error.code, names.ERROR: error.message[:_LONGEST_HEADER]}
        data = encode(ErrorReply(error=error.body), content_type)
        if len(data) > self._limit:
            data = encode(ErrorReply(error=type(error)(error.message[:_LONGEST_HEADER]).body), content_type)
        return headers, data

    @property
    def _limit(self) -> int:
        return self._nc.max_payload - names.HEADER_ALLOWANCE

    def _statistics(self, _: EndpointStats) -> dict[str, Any]:
        return {
            "components": self._components(),
            "work": self._work(),
            "operations": self._latencies.summary(),
        }


class Requester:
    """Calls operations in agents' names; the connection's credentials must allow it."""

    def __init__(self, nc: Client, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self._nc = nc
        self._timeout_s = timeout_s

    async def call(self, agent: str, op: str, request: msgspec.Struct, *, timeout_s: float | None = None) -> Any:
        """The operation's reply, as its Struct. The present trace goes on in the node.

        Raises:
            AfterwitError: what the node answered; or `Unavailable` if no node serves it or NATS is away (nothing was
                done), `TimedOut` if no answer came (it may have been done), `TooLarge` for the request.
        """
        data = encode(request, MSGPACK)
        limit = self._nc.max_payload - names.HEADER_ALLOWANCE
        if len(data) > limit:
            raise TooLarge(f"the request takes {len(data)} bytes and may take {limit}", field="", limit_bytes=limit)
        wait = self._timeout_s if timeout_s is None else timeout_s
        with instrumentation.asking(agent, op, headers := {names.CONTENT_TYPE: MSGPACK}):
            return await self._answer(op, Question(names.request(agent, op), data, headers), wait)

    async def _answer(self, op: str, question: Question, wait_s: float) -> Any:
        try:
            answer = await mailbox_of(self._nc).ask(question, timeout_s=wait_s)
        except NobodyThere as e:
            if op not in OPERATIONS:
                raise NotFound(f"there is no operation {op!r}") from e
            raise Unavailable(f"no memory node is serving {op} at present; try again") from e
        except NoAnswer as e:
            raise TimedOut(
                f"no answer to {op} came within {wait_s:g} s, it may have been done: repeat it with its idempotency key"
            ) from e
        content_type = content_type_of(answer.headers)
        if header(answer.headers, names.ERROR_CODE) is not None:
            raise _error_in(answer, content_type)
        if op not in OPERATIONS:
            return decode(answer.data, dict, content_type)
        return decode(answer.data, OPERATIONS[op].reply, content_type)


def _error_in(answer: Msg, content_type: str) -> AfterwitError:
    try:
        return AfterwitError.from_body(decode(answer.data, ErrorReply, content_type).error)
    except Invalid:
        code, text = header(answer.headers, names.ERROR_CODE), header(answer.headers, names.ERROR)
        return Internal(f"the node answered with an error of another kind: {code} {text}")
