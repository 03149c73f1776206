"""Where looking back is worked out: in a process of its own, with less right to the processor than who answers agents.

Telling a long session takes seconds of computing, in which a node would serve nobody.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import multiprocessing.connection
import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Final, ParamSpec, Protocol, Self, TypeVar

from ...schemas import Unavailable

P = ParamSpec("P")
R = TypeVar("R")

_NICE: Final = 10


class Thinking(Protocol):
    """Runs pure functions."""

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """What ``function`` gives; it must be a module's own, and all values such as can be pickled.

        Raises:
            Unavailable: the process died.
        """
        ...


class Apart:
    """A process that is started when there is something to think about; an async context manager."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._end()

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """See `Thinking`."""
        pool = self._pool
        if pool is None:
            pool = self._pool = ProcessPoolExecutor(
                max_workers=1, mp_context=multiprocessing.get_context("spawn"), initializer=_begin
            )
        try:
            return await asyncio.wrap_future(pool.submit(_call, function, args, kwargs))
        except BrokenProcessPool as e:
            if self._pool is pool:  # another that was waiting for it may have begun anew
                await self._end()
            raise Unavailable("the process that looks back has died; it is started anew") from e

    async def _end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)


class InPlace:
    """Thinks in the caller's own process, at once."""

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """See `Thinking`."""
        return function(*args, **kwargs)


def _call(function: Callable[..., R], args: tuple[object, ...], kwargs: dict[str, object]) -> R:
    return function(*args, **kwargs)


def _begin() -> None:
    """In the new process: step back, and end with the one that started it, even if that is killed."""
    os.nice(_NICE)
    parent = multiprocessing.parent_process()
    assert parent is not None
    sentinel = parent.sentinel

    def end() -> None:
        multiprocessing.connection.wait([sentinel])
        os._exit(0)

    threading.Thread(target=end, name="parent", daemon=True).start()
