"""What an operator asks of nodes: any one of them answers. Only the operator's user may ask (see `identity.parts`)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from ..schemas import AfterwitError, ErrorReply, Internal, NotFound, TimedOut, Unavailable
from ..schemas.codec import JSON, decode, encode
from . import names
from .mailbox import NoAnswer, NobodyThere, Question, mailbox_of

_QUEUE: Final = "admin"

R = TypeVar("R", bound=msgspec.Struct)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Task:
    """Something that an operator may ask for: with which request, and who does it."""

    request: type[msgspec.Struct]
    handler: Callable[[Any], Awaitable[msgspec.Struct]]


class AdminServer:
    """Answers while its context lasts; what is under way at its end is broken off. Payloads are JSON."""

    def __init__(self, nc: Client, tasks: Mapping[str, Task]) -> None:
        self._nc = nc
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
        if not self._nc.is_closed:
            await self._subscription.unsubscribe()
        for task in self._running:
            task.cancel()
        await self._under_way.__aexit__(None, None, None)

    async def _accept(self, msg: Msg) -> None:
        task = self._under_way.create_task(self._serve(msg), name=f"admin {msg.subject}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _serve(self, msg: Msg) -> None:
        headers: dict[str, str] = {}
        try:
            task = self._known.get(msg.subject.rpartition(".")[2])
            if task is None:
                raise NotFound(f"there is no task {msg.subject!r}")
            reply: msgspec.Struct = await task.handler(decode(msg.data, task.request, JSON))
        except AfterwitError as e:
            headers, reply = {names.ERROR_CODE: e.code}, ErrorReply(error=e.body)
        except Exception:
            log.exception("%s failed", msg.subject)
            failure = Internal("the node failed; its log has the details")
            headers, reply = {names.ERROR_CODE: failure.code}, ErrorReply(error=failure.body)
        try:
            await self._nc.publish(msg.reply, encode(reply, JSON), headers=headers)
        except nats.errors.Error as error:
            log.warning("the answer to %s cannot be sent: %s", msg.subject, error)


async def ask(nc: Client, what: str, request: msgspec.Struct, reply: type[R], *, timeout_s: float) -> R:
    """Ask a node for ``what``.

    Raises:
        AfterwitError: what the node answered; or `Unavailable` if none is there, `TimedOut` if it did not answer.
    """
    try:
        answer = await mailbox_of(nc).ask(Question(names.admin(what), encode(request, JSON)), timeout_s=timeout_s)
    except NobodyThere as e:
        raise Unavailable("no memory node is running; see `afterwit doctor`") from e
    except NoAnswer as e:
        raise TimedOut(f"no answer within {timeout_s:g} s; it may go on, see the node's log") from e
    if (answer.headers or {}).get(names.ERROR_CODE) is not None:
        raise AfterwitError.from_body(decode(answer.data, ErrorReply, JSON).error)
    return decode(answer.data, reply, JSON)
