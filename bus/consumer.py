"""The fetch loop: a durable pull consumer that all nodes share.

There is always a pull request standing at the server, so a message comes the moment it is there, alone or with what
else waits; nothing is polled. Heartbeats tell an idle server from a silent one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js import JetStreamContext, api
from nats.js.errors import NotFoundError, ServiceUnavailableError

from . import names
from .connection import client_of, watch

BATCH: Final = 256

_EXPIRES_S: Final = 60.0
_HEARTBEAT_S: Final = 10.0
_SILENCE_S: Final = 2.5 * _HEARTBEAT_S
_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0
_NAK_DELAY_S: Final = 1.0
_LEAVE_S: Final = 5.0
_SECOND_NS: Final = 1_000_000_000

log = logging.getLogger(__name__)


async def consume(  # noqa: PLR0913  # each is a plain word for what a loop needs; a Struct would hide them
    js: JetStreamContext,
    stream: str,
    durable: str,
    handle: Callable[[list[Msg]], Awaitable[None]],
    *,
    batch: int = BATCH,
    at_once: int = 1,
    filter_subject: str | None = None,
    stop: asyncio.Event,
    ack_wait_s: float = 10.0,
    max_ack_pending: int | None = None,
) -> None:
    """Give ``handle`` what waits in ``stream``, 1 to ``batch`` messages at a time, until ``stop`` is set.

    With ``at_once`` over 1 it is given the next ones while so many calls are not yet done.

    ``handle`` acks or naks each message itself; while it works, its messages are kept from being given to others. If it
    raises, that is logged and its unsettled messages come again a second later. What a node held when it died comes
    again to another one after ``ack_wait_s``. On ``stop`` the batch in hand is finished, the rest goes back. At most
    ``max_ack_pending`` messages (100 batches, if not said) are with nodes, or sent back with a delay.

    Raises:
        nats.js.errors.APIError: the consumer cannot be made as asked.
    """
    config = api.ConsumerConfig(
        durable_name=durable,
        ack_policy=api.AckPolicy.EXPLICIT,
        ack_wait=ack_wait_s,
        filter_subject=filter_subject,
        max_ack_pending=max_ack_pending or 100 * batch,
    )
    loop = _Loop(js, stream, config, batch, at_once)
    await loop.run(handle, stop)


class _Loop:
    """The state of one `consume`."""

    def __init__(self, js: JetStreamContext, stream: str, config: api.ConsumerConfig, batch: int, at_once: int) -> None:
        self._js = js
        self._nc: Client = client_of(js)
        self._stream = stream
        self._config = config
        self._batch = batch
        self._at_once = at_once
        self._under_way: set[asyncio.Task[None]] = set()
        self._inbox = self._nc.new_inbox()
        durable = config.durable_name
        assert durable is not None
        self._next = names.consumer_next(stream, durable)
        self._waiting: deque[Msg] = deque()
        self._credit = 0  # messages that the server may still send
        self._wake = asyncio.Event()
        self._broken = True  # the consumer has to be made, or looked for
        self._pause_s = _FIRST_PAUSE_S

    async def run(self, handle: Callable[[list[Msg]], Awaitable[None]], stop: asyncio.Event) -> None:
        stopping = asyncio.create_task(stop.wait(), name=f"{self._config.durable_name}: stop")
        stopping.add_done_callback(lambda _: self._wake.set())
        unwatch = watch(self._nc, back=self._renew)
        subscription = await self._nc.subscribe(self._inbox, cb=self._take)
        try:
            while not stop.is_set():
                if self._broken:
                    await self._mend()
                    continue
                await self._pull()
                if self._waiting:
                    await self._begin(handle)
                else:
                    await self._rest()
        except asyncio.CancelledError:
            for task in self._under_way:
                task.cancel()
            raise
        finally:
            if self._under_way:
                await asyncio.wait(self._under_way)
            unwatch()
            stopping.cancel()
            await asyncio.wait((stopping,))
            await self._leave(subscription)

    async def _take(self, msg: Msg) -> None:
        """One message from the server: one of the stream, or a status about a pull request."""
        status = msg.headers.get("Status") if msg.headers and not msg.reply else None
        match status:
            case None:
                self._credit = max(self._credit - 1, 0)
                self._waiting.append(msg)
            case "100":
                pass  # a heartbeat: the waking below is all that it is for
            case "404" | "408":
                left = (msg.headers or {}).get("Nats-Pending-Messages")
                self._credit = max(self._credit - int(left), 0) if left else 0
            case _:  # 409: consumer deleted, leader changed, …; 503: nobody there
                log.info("%s of %s: %s %s", self._config.durable_name, self._stream, status, msg.headers)
                self._break()
        self._wake.set()

    def _renew(self) -> None:
        """The connection is back: what was asked for before is forgotten at the server."""
        self._break()
        self._pause_s = 0.0
        self._wake.set()

    def _break(self) -> None:
        self._broken = True
        self._credit = 0

    async def _mend(self) -> None:
        """Make sure that the consumer exists; on trouble wait a little longer each time."""
        self._wake.clear()
        try:
            if self._pause_s:
                async with asyncio.timeout(self._pause_s):
                    await self._wake.wait()
        except TimeoutError:
            pass
        self._broken = False
        try:
            await self._js.add_consumer(self._stream, self._config)
        except (ServiceUnavailableError, NotFoundError, nats.errors.Error, OSError) as e:
            if isinstance(e, nats.js.errors.APIError) and not isinstance(e, ServiceUnavailableError | NotFoundError):
                raise
            self._break()
            self._pause_s = min(max(self._pause_s * 2, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)
            log.info("the consumer %s of %s cannot be reached: %s", self._config.durable_name, self._stream, e)

    async def _pull(self) -> None:
        """Keep between half a batch and a batch of messages asked for or at hand."""
        room = self._batch - self._credit - len(self._waiting)
        if room <= self._batch // 2 and self._credit:
            return
        if room <= 0:
            return
        request = {
            "batch": room,
            "expires": int(_EXPIRES_S * _SECOND_NS),
            "idle_heartbeat": int(_HEARTBEAT_S * _SECOND_NS),
        }
        self._credit += room
        try:
            await self._nc.publish(self._next, msgspec.json.encode(request), reply=self._inbox)
        except nats.errors.Error as e:
            log.info("cannot ask for messages of %s: %s", self._stream, e)
            self._break()

    async def _rest(self) -> None:
        """Wait for a message, a status, the connection's return, or the end; long silence is trouble."""
        self._wake.clear()
        try:
            async with asyncio.timeout(_SILENCE_S):
                await self._wake.wait()
            if self._waiting:
                self._pause_s = _FIRST_PAUSE_S
        except TimeoutError:
            log.warning("no heartbeat from the consumer %s of %s", self._config.durable_name, self._stream)
            self._break()

    async def _begin(self, handle: Callable[[list[Msg]], Awaitable[None]]) -> None:
        """Have the next batch handled; return when there is room for another."""
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._batch))]
        task = asyncio.create_task(self._work(handle, batch), name=f"{self._config.durable_name}: handle")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        if len(self._under_way) == self._at_once:
            await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)

    async def _work(self, handle: Callable[[list[Msg]], Awaitable[None]], batch: list[Msg]) -> None:
        keeping = asyncio.create_task(self._keep(batch), name=f"{self._config.durable_name}: keep")
        try:
            await handle(batch)
        except Exception:
            log.exception("%d messages of %s could not be handled; they will come again", len(batch), self._stream)
            await self._give_back(batch, _NAK_DELAY_S)
        finally:
            keeping.cancel()
            await asyncio.wait((keeping,))

    async def _keep(self, batch: Sequence[Msg]) -> None:
        """Tell the server from time to time that the messages in hand are being worked on."""
        assert self._config.ack_wait is not None
        while True:
            await asyncio.sleep(self._config.ack_wait / 3)
            for msg in (*batch, *self._waiting):
                if not msg.is_acked and self._nc.is_connected:
                    await msg.in_progress()

    async def _give_back(self, messages: Sequence[Msg], delay_s: float | None = None) -> None:
        for msg in messages:
            if not msg.is_acked and self._nc.is_connected:
                await msg.nak(delay_s)

    async def _leave(self, subscription: Subscription) -> None:
        try:
            async with asyncio.timeout(_LEAVE_S):
                if self._nc.is_connected:
                    # What the server has sent by now comes in, to be given back.
                    await subscription.drain()  # type: ignore[no-untyped-call]  # nats-py 2.16 leaves it untyped
                else:
                    await subscription.unsubscribe()
                await self._give_back(self._waiting)
        except (nats.errors.Error, TimeoutError) as e:
            log.info("leaving the consumer %s of %s: %s", self._config.durable_name, self._stream, e)
