"""What a node does from time to time, for as long as it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from ..schemas import AfterwitError

logger = logging.getLogger(__name__)


async def repeated(work: Callable[[], Awaitable[object]], every_s: float, stop: asyncio.Event, *, what: str) -> None:
    """Do ``work``, and again ``every_s`` seconds after it, until ``stop`` is set.

    If it fails, it is tried again the next time; ``what`` names it in the log.
    """
    while not stop.is_set():
        try:
            await work()
        except AfterwitError as e:
            logger.info("%s: not now, but later: %s", what, e)
        except Exception:  # the root of a task
            logger.exception("%s failed, and is tried again", what)
        try:
            async with asyncio.timeout(every_s):
                await stop.wait()
        except TimeoutError:
            pass
