"""Many questions over one connection, with one answer each or several: one inbox subscription for all.

With nats-py's own `request` there is one answer only, and what is under way when the connection breaks waits for its
whole time-out. Here it fails at once, so that the caller can find out what happened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from ..schemas import TooLarge, Unavailable
from .connection import wait_connected, watch

_STATUS: Final = "Status"
_NO_RESPONDERS: Final = "503"


class NoAnswer(Exception):
    """It was sent, and no answer came: the time was up or the connection broke. It may have had its effect."""


class NobodyThere(Exception):
    """Nobody listens on the subject: it had no effect."""


@dataclass(frozen=True, slots=True)
class Question:
    """One message to send."""

    subject: str
    data: bytes
    headers: Mapping[str, str] | None = None


class _Waiting:
    """Somebody who waits: for one message, or for all up to a status message."""

    __slots__ = ("done", "got", "until_status")

    def __init__(self, *, until_status: bool) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.got: list[Msg] = []
        self.until_status = until_status


class Mailbox:
    """Questions and answers over one connection; get it by `mailbox_of`. It lives as long as the connection."""

    def __init__(self, nc: Client) -> None:
        self._nc = nc
        self._inbox = nc.new_inbox()
        self._prefix = len(self._inbox) + 1
        self._numbers = count()
        self._waiting: dict[str, _Waiting] = {}
        self._opened: asyncio.Task[None] | None = None
        watch(nc, gone=self._lose_all)

    async def ask(self, question: Question, *, timeout_s: float) -> Msg:
        """The one answer.

        Raises:
            Unavailable: there was no connection for so long; nothing was sent.
            NobodyThere, NoAnswer: as they say.
        """
        (answer,) = await self.ask_each((question,), timeout_s=timeout_s)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def ask_each(self, questions: Sequence[Question], *, timeout_s: float) -> list[Msg | NobodyThere | NoAnswer]:
        """The answer to each question, in order; all are sent before the first is waited for.

        Raises:
            Unavailable: there was no connection for so long; nothing was sent.
        """
        await self._ready(timeout_s)
        tokens: list[str] = []
        waiting: list[_Waiting] = []
        try:
            for question in questions:
                token, waiter = self._expect(until_status=False)
                tokens.append(token)
                waiting.append(waiter)
                try:
                    await self._send(question, token)
                except Unavailable:
                    if len(questions) == 1:
                        raise
                    self._lose_all()  # some went out: nobody knows how far they came
            await self._wait([w.done for w in waiting], timeout_s)
        finally:
            for token in tokens:
                self._waiting.pop(token, None)
        return [_outcome(w) for w in waiting]

    async def ask_many(self, question: Question, *, timeout_s: float) -> tuple[list[Msg], Msg]:
        """All answers up to the one with a status, and that one (a 503 included).

        Raises:
            Unavailable: there was no connection for so long; nothing was sent.
            NoAnswer: the status did not come.
        """
        await self._ready(timeout_s)
        token, waiter = self._expect(until_status=True)
        try:
            await self._send(question, token)
            await self._wait([waiter.done], timeout_s)
        finally:
            self._waiting.pop(token, None)
        if not waiter.done.done() or waiter.done.cancelled():
            raise NoAnswer(question.subject)
        *answers, end = waiter.got
        return answers, end

    def _expect(self, *, until_status: bool) -> tuple[str, _Waiting]:
        token = str(next(self._numbers))
        waiter = self._waiting[token] = _Waiting(until_status=until_status)
        return token, waiter

    async def _send(self, question: Question, token: str) -> None:
        headers = dict(question.headers) if question.headers else None
        try:
            await self._nc.publish(question.subject, question.data, reply=f"{self._inbox}.{token}", headers=headers)
        except nats.errors.MaxPayloadError as e:
            limit = self._nc.max_payload
            raise TooLarge(
                f"the message is {len(question.data)} bytes beside its headers and NATS takes {limit} with them",
                field="",
                limit_bytes=limit,
            ) from e
        except nats.errors.Error as e:
            raise Unavailable(f"the message could not be sent: {e}") from e

    async def _ready(self, timeout_s: float) -> None:
        if not self._nc.is_connected:
            await wait_connected(self._nc, timeout_s)
        if self._opened is None:
            self._opened = asyncio.create_task(self._open(), name="mailbox: subscribe")
        if not self._opened.done():
            await asyncio.shield(self._opened)

    async def _open(self) -> None:
        await self._nc.subscribe(f"{self._inbox}.*", cb=self._take)

    async def _take(self, msg: Msg) -> None:
        waiter = self._waiting.get(msg.subject[self._prefix :])
        if waiter is None or waiter.done.done():
            return  # came after its time was up
        waiter.got.append(msg)
        if not waiter.until_status or _status(msg) is not None:
            waiter.done.set_result(None)

    def _lose_all(self) -> None:
        for waiter in self._waiting.values():
            waiter.done.cancel()

    @staticmethod
    async def _wait(futures: list[asyncio.Future[None]], timeout_s: float) -> None:
        if futures:
            await asyncio.wait(futures, timeout=timeout_s)


def mailbox_of(nc: Client) -> Mailbox:
    """The mailbox of a connection."""
    found: Mailbox | None = vars(nc).get("afterwit_mailbox")
    if found is None:
        found = vars(nc)["afterwit_mailbox"] = Mailbox(nc)
    return found


def _status(msg: Msg) -> str | None:
    return msg.headers.get(_STATUS) if msg.headers else None


def _outcome(waiter: _Waiting) -> Msg | NobodyThere | NoAnswer:
    if not waiter.got:
        return NoAnswer()
    msg = waiter.got[0]
    return NobodyThere() if not msg.data and _status(msg) == _NO_RESPONDERS else msg
