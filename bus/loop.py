"""The event loop of the processes that serve."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

_SWITCH_S: Final = 0.0005
_COLLECTED_AT: Final = (10_000, 20, 20)


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on uvloop, which takes half the time for a message of NATS. Windows lacks it, and does without.

    The loop waits for the interpreter no longer than `_SWITCH_S` while another thread computes: by default it is 5 ms,
    each time that it comes back from waiting, and an answer has many such times. Cycles are looked for when 10,000
    objects more are there, not 700: with what a node keeps of memories that took a twelfth of every retrieval.
    """
    sys.setswitchinterval(_SWITCH_S)
    gc.set_threshold(*_COLLECTED_AT)
    if sys.platform == "win32":
        return asyncio.run(main)
    import uvloop  # noqa: PLC0415  # not there on Windows

    return uvloop.run(main)
