"""Who is waited for goes first: work in the background is cut in short pieces, and each piece gives way to requests.

A node answers requests and works in the background (ingested items, indexing, filling in) in one process, and much of
either holds the interpreter. So whatever a request has to wait for is at most a piece. How many items make a piece is
measured, not set: processors differ, and so do items. Where nobody has asked for a while, pieces are longer, since each
has costs of its own.

Nor does the background wait for ever: it gives way for as long as three pieces take at most. So however much is asked
of the node, a quarter of its time goes to what has been promised already.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import msgspec

from ..bus.rpc import Caller, Handler

T = TypeVar("T")

PIECE_S: Final = 0.005
"""What a request may have to wait for a piece: about what it takes itself."""
QUIET_PIECE_S: Final = 4 * PIECE_S
"""Likewise where the last request is longer ago than `QUIET_S`. Most of a piece is short steps that others get between,
so that the next request does not wait for all of it."""
QUIET_S: Final = 1.0
SHARE: Final = 0.25
"""Of the background, while requests are under way all the time."""
_LEAST: Final = 8
"""Items of a piece: fewer save little, since a piece has costs of its own."""
_FIRST_S: Final = 0.0005
"""What an item is taken to cost before it was measured."""
_WEIGHT: Final = 0.2
"""Of the newest piece in the mean over the past ones."""
BACKGROUND: Final = frozenset({"store_many", "changes", "reflect", "end_session", "forget"})
"""Operations that nothing gives way to: bulk, those that may wait long, and those that work as the background does."""


class Way:
    """Knows which requests are under way on this node."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.pieces = 0
        """Pieces that are at work."""
        self._clock = clock
        self._asked_at = -math.inf
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @contextmanager
    def serving(self) -> Iterator[None]:
        """A request is under way for as long as the block runs."""
        self._under_way += 1
        try:
            yield
        finally:
            self._asked_at = self._clock()
            self._under_way -= 1
            self._let_go()

    @property
    def piece_s(self) -> float:
        """How long a piece may take now, in seconds."""
        quiet = not self._under_way and self._clock() - self._asked_at > QUIET_S
        return QUIET_PIECE_S if quiet else PIECE_S

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Within `serving`: the request waits for the background itself, so nothing gives way to it meanwhile."""
        self._under_way -= 1
        self._let_go()
        try:
            yield
        finally:
            self._under_way += 1

    def first(self, handlers: Mapping[str, Handler]) -> dict[str, Handler]:
        """``handlers``, all of which go first but those of `BACKGROUND`."""
        return {op: handler if op in BACKGROUND else self._served(handler) for op, handler in handlers.items()}

    async def clear(self, at_most_s: float) -> None:
        """Return when no request is under way, and after ``at_most_s`` in any case."""
        if not self._under_way:
            return
        free = asyncio.get_running_loop().create_future()
        self._waiting.append(free)
        await asyncio.wait((free,), timeout=at_most_s)
        free.cancel()

    def _let_go(self) -> None:
        """One after the other: the next request is not to find all of them at work at once."""
        while self._waiting and not self._under_way:
            free = self._waiting.popleft()
            if not free.done():
                free.set_result(None)
                free.get_loop().call_later(PIECE_S, self._let_go)
                return

    def _served(self, handler: Handler) -> Handler:
        async def served(caller: Caller, request: Any) -> msgspec.Struct:
            with self.serving():
                return await handler(caller, request)

        return served


class Background:
    """One kind of work in the background, with its own measure.

    ::

        async for piece in background.pieces(messages):
            await handle(piece)

    ``clock`` tells what a piece took, in seconds. By default it is the event loop's time on processors: waiting for an
    engine is no burden to anybody. Pieces that are at work side by side are taken to have had equal parts of it.
    """

    def __init__(self, way: Way, *, clock: Callable[[], float] = time.thread_time) -> None:
        self._way = way
        self._clock = clock
        self._item_s = _FIRST_S
        self._took_s = 0.0

    async def pieces(self, items: Sequence[T]) -> AsyncIterator[Sequence[T]]:
        """``items``, in order, in pieces of about `Way.piece_s`."""
        start = 0
        while start < len(items):
            await self._way.clear(max(self._took_s, PIECE_S) * (1 / SHARE - 1))
            piece = items[start : start + self.size]
            begun, beside = self._clock(), self._way.pieces
            self._way.pieces += 1
            try:
                yield piece
            finally:
                self._way.pieces -= 1
            self._measured((self._clock() - begun) / (1 + (beside + self._way.pieces) / 2), len(piece))
            start += len(piece)

    @property
    def size(self) -> int:
        """How many items the next piece has at most."""
        return max(_LEAST, int(self._way.piece_s / self._item_s))

    def _measured(self, took_s: float, items: int) -> None:
        self._item_s = max((1 - _WEIGHT) * self._item_s + _WEIGHT * took_s / items, 1e-6)
        self._took_s = took_s
