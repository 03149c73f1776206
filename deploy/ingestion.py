"""Bringing a file of memories in, through the ingest stream: each line one `store` request in JSON.

Every line has an idempotency key, if need be one made from its number and its content, so a run that was cut short
is simply run again. A line is done when its memory can be found, or when the node has said why it refused it.
"""

from __future__ import annotations

import asyncio
import codecs
import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from nats.aio.msg import Msg

from ..bus import ingest, names
from ..bus.connection import unsubscribe
from ..memory_node.ids import derived_id
from ..schemas import (
    AfterwitError,
    ErrorBody,
    Get,
    GetReply,
    Memory,
    NotFound,
    Retrieve,
    RetrieveReply,
    Store,
    TimedOut,
)
from ..schemas.codec import JSON, decode
from .client import BusClient

_UNDER_WAY: Final = 2048
"""So many lines may be on their way: published, and not yet found."""
_QUIET_S: Final = 0.5
"""After so long without news we ask: what was there before gives no notice."""
_ASKED_AT_ONCE: Final = 128


class RefusedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that was not stored."""

    line: int
    error: ErrorBody


class Summary(msgspec.Struct, kw_only=True):
    """``stored`` lines are there now; ``created`` of them were not before."""

    lines: int = 0
    stored: int = 0
    created: int = 0
    refused: list[RefusedLine] = msgspec.field(default_factory=list)

    @property
    def done(self) -> int:
        """Lines that are through, for good or ill."""
        return self.stored + len(self.refused)


@dataclass(frozen=True, slots=True)
class Line:
    """A line that can be sent: the memory's id follows from the request's key."""

    number: int
    request: Store
    pool: str
    id: str


def read_line(number: int, text: bytes, *, agent: str, pool: str | None = None) -> Line:
    """The request in ``text``; without a pool of its own it goes to ``pool``, else to the agent's private one.

    Raises:
        Invalid, TooLarge: it is no `store` request.
    """
    text = text.removeprefix(codecs.BOM_UTF8)  # some editors begin a file with one
    request = decode(text, Store, JSON)
    key = request.idempotency_key
    if key is None:
        key = f"line-{number}-{hashlib.sha256(text.strip()).hexdigest()[:32]}"
    target = request.pool or pool or f"agent/{agent}"
    request = msgspec.structs.replace(request, idempotency_key=key, pool=target)
    return Line(number, request, target, derived_id(agent, target, key))


@dataclass(slots=True)
class _Waiting:
    """Lines of one memory that are under way. ``sent`` once the stream has one of them."""

    lines: list[Line] = field(default_factory=list)
    sent: bool = False


class Ingestion:
    """One run. ``on_progress`` is called whenever a line is done."""

    def __init__(
        self,
        bus: BusClient,
        *,
        pool: str | None = None,
        on_progress: Callable[[Summary], None] = lambda _: None,
        patience_s: float = 120.0,
    ) -> None:
        self._bus = bus
        self._js = bus.nc.jetstream()
        self._pool = pool
        self._on_progress = on_progress
        self._patience_s = patience_s
        self._summary = Summary()
        self._waiting: dict[str, _Waiting] = {}
        self._watched: set[str] = set()
        self._room = asyncio.Semaphore(_UNDER_WAY)
        self._news = asyncio.Event()
        self._began = datetime.now(UTC)
        self._newest_seq = 0

    async def run(self, lines: Iterable[bytes]) -> Summary:
        """Send all ``lines``, and wait until each is stored or refused. Empty lines are passed over.

        Raises:
            TimedOut: nothing happened for ``patience_s``; what was sent is safe, and running again is harmless.
            Unavailable: the bus went away.
        """
        rejections = await self._bus.nc.subscribe(names.rejected(self._bus.agent), cb=self._on_rejected)
        try:
            async with asyncio.TaskGroup() as tasks:
                checking = tasks.create_task(self._check_when_quiet(), name="check what is under way")
                async with asyncio.TaskGroup() as sending:
                    for number, text in enumerate(lines, start=1):
                        if text.strip():
                            await self._begin(number, text, sending)
                while self._waiting:
                    await self._next_news()
                checking.cancel()
        except ExceptionGroup as group:  # of tasks that fail for one reason
            raise _first(group) from group
        finally:
            await unsubscribe(rejections)
        if self._newest_seq:
            await self._until_visible()
        return self._summary

    async def _begin(self, number: int, text: bytes, sending: asyncio.TaskGroup) -> None:
        self._summary.lines += 1
        try:
            line = read_line(number, text, agent=self._bus.agent, pool=self._pool)
        except AfterwitError as e:
            self._refuse(number, e.body)
            return
        await self._room.acquire()
        await self._watch(line.pool)
        self._waiting.setdefault(line.id, _Waiting()).lines.append(line)
        sending.create_task(self._send(line), name=f"send line {number}")

    async def _send(self, line: Line) -> None:
        await ingest.publish(self._js, self._bus.agent, line.pool, line.request)
        if line.id in self._waiting:
            self._waiting[line.id].sent = True

    async def _watch(self, pool: str) -> None:
        if pool not in self._watched:
            self._watched.add(pool)
            await self._bus.nc.subscribe(names.changes_of(pool), cb=self._on_notice)
            await self._bus.nc.flush()

    async def _on_notice(self, message: Msg) -> None:
        _, _, id = names.parse_changed(message.subject)
        self._settle(id, created=True)

    async def _on_rejected(self, message: Msg) -> None:
        rejection: dict[str, Any] = msgspec.json.decode(message.data)
        item = rejection.get("item")
        key = item.get("idempotency_key") if isinstance(item, dict) else None
        for id, waiting in list(self._waiting.items()):
            for line in waiting.lines:
                if line.request.idempotency_key == key:
                    error = msgspec.convert(rejection["error"], ErrorBody)
                    self._refuse(line.number, error)
                    waiting.lines.remove(line)
                    self._room.release()
                    if not waiting.lines:
                        del self._waiting[id]
                    return

    def _settle(self, id: str, *, created: bool) -> None:
        waiting = self._waiting.pop(id, None)
        if waiting is not None:
            self._summary.stored += len(waiting.lines)
            self._summary.created += created
            for _ in waiting.lines:
                self._room.release()
            self._tell()

    def _refuse(self, number: int, error: ErrorBody) -> None:
        self._summary.refused.append(RefusedLine(line=number, error=error))
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._on_progress(self._summary)

    async def _next_news(self) -> None:
        self._news.clear()
        if self._waiting:
            await self._news.wait()

    async def _check_when_quiet(self) -> None:
        """Ask for what is under way whenever nothing was heard for a while; give up when that goes on too long."""
        heard, done = time.monotonic(), self._summary.done
        while True:
            await asyncio.sleep(_QUIET_S)
            quiet = self._summary.done == done
            while quiet and await self._ask_for_some():
                heard = time.monotonic()  # what was there before comes in a row: no pause in between
            if self._summary.done != done:
                heard, done = time.monotonic(), self._summary.done
            elif self._waiting and time.monotonic() - heard > self._patience_s:
                raise TimedOut(
                    f"nothing was stored for {self._patience_s:g} s; what was sent is safe. See `afterwit doctor`, and "
                    "run this again later: it adds nothing twice"
                )

    async def _ask_for_some(self) -> bool:
        """Ask for the oldest that the stream has; whether any of them was there."""
        before = self._summary.done
        sent = [(id, waiting.lines[0]) for id, waiting in self._waiting.items() if waiting.sent]
        async with asyncio.TaskGroup() as asking:
            for id, line in sent[:_ASKED_AT_ONCE]:
                asking.create_task(self._ask(id, line), name=f"ask for {id}")
        return self._summary.done != before

    async def _ask(self, id: str, line: Line) -> None:
        try:
            memory = (await self._bus.call("get", Get(id=id), GetReply)).memory
        except NotFound:
            return
        if memory.content == line.request.content or memory.version > 1:
            self._newest_seq = max(self._newest_seq, memory.seq or 0)
            self._settle(id, created=self._is_new(memory))
        # Else the key was used for something else before: the node will refuse this line.

    def _is_new(self, memory: Memory) -> bool:
        return memory.created_at >= self._began

    async def _until_visible(self) -> None:
        """What we know from the log may not be in the index yet."""
        request = Retrieve(query="the newest", top_k=1, after_seq=self._newest_seq)
        await self._bus.call("retrieve", request, RetrieveReply)


def _first(group: ExceptionGroup[Exception]) -> Exception:
    """One error for people; a fault of ours before one that they can do something about."""
    leaves = _leaves(group)
    return next((e for e in leaves if not isinstance(e, AfterwitError)), leaves[0])


def _leaves(error: Exception) -> list[Exception]:
    return [leaf for e in error.exceptions for leaf in _leaves(e)] if isinstance(error, ExceptionGroup) else [error]
