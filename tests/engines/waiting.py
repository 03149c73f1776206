"""Waiting for conditions, bounded: a test never sleeps for luck."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

T = TypeVar("T")

_FIRST_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.05


@overload
async def wait_until(condition: Callable[[], Awaitable[T]], *, description: str, timeout_s: float = 60.0) -> T: ...


@overload
async def wait_until(condition: Callable[[], T], *, description: str, timeout_s: float = 60.0) -> T: ...


async def wait_until(
    condition: Callable[[], T] | Callable[[], Awaitable[T]],
    *,
    description: str,
    timeout_s: float = 60.0,
) -> T:
    """Wait until ``condition()`` is true and return what it gave.

    Raises:
        AssertionError: it was not true within ``timeout_s``; the text holds ``description``.
    """
    deadline = time.monotonic() + timeout_s
    pause = _FIRST_PAUSE_S
    while True:
        found = condition()
        value = await found if inspect.isawaitable(found) else found
        if value:
            return value
        if time.monotonic() >= deadline:
            raise AssertionError(f"waited {timeout_s} s in vain: {description}")
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)
