"""Conflicts of what was imported: looked for afterwards, in the background, since nobody waits for the answer.

While an import is under way its items go first, until half of `MOST_WAITING` memories wait: that they can be found is
waited for. Beyond that both go on side by side.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ..schemas import AfterwitError, Memory
from .contradicting import is_knowledge
from .giving_way import Background

logger = logging.getLogger(__name__)

MOST_WAITING: Final = 4096
"""Then an import waits for them. What waits when a node ends, the pool's review looks at (`Review`)."""
AT_ONCE: Final = 2
"""While one is judged, in a process of its own, another is looked for in the index."""
_PAUSE_S: Final = 0.5
"""An import whose last items are stored has ended if no others come for so long."""
_LONGEST_S: Final = 1.0
"""How long a memory gives way to imports: they may never end."""


class Settling:
    """Memories whose conflicts are still to be looked for; ``settle`` looks for those of one."""

    def __init__(
        self,
        settle: Callable[[Memory], Awaitable[object]],
        background: Background,
        *,
        most: int = MOST_WAITING,
    ) -> None:
        self._settle = settle
        self._background = background
        self._imports = 0
        self._over = asyncio.Event()
        self._over.set()
        self._ending: asyncio.TimerHandle | None = None
        self._ended = False
        self._waiting: asyncio.Queue[Memory] = asyncio.Queue(most)

    @contextmanager
    def importing(self) -> Iterator[None]:
        """As long as the block runs, an import is under way."""
        self._imports += 1
        self._over.clear()
        if self._ending is not None:
            self._ending.cancel()
        try:
            yield
        finally:
            self._imports -= 1
            if not self._imports:
                self._ending = asyncio.get_running_loop().call_later(_PAUSE_S, self._over.set)

    async def take(self, memory: Memory) -> None:
        """See to ``memory`` later; waits while too many wait already, and for nothing once the node ends."""
        if is_knowledge(memory) and memory.seq is not None and not self._ended:
            await self._waiting.put(memory)

    async def run(self, stop: asyncio.Event) -> None:
        """Until ``stop`` is set."""
        working = [asyncio.create_task(self._work(), name="settling: work") for _ in range(AT_ONCE)]
        try:
            await stop.wait()
        finally:
            for task in working:
                task.cancel()
            await asyncio.wait(working)
            self._ended = True
            while not self._waiting.empty():  # or an import that waits for room would hold up the node's end
                self._waiting.get_nowait()
                await asyncio.sleep(0)  # the next that waits comes in

    async def _work(self) -> None:
        while True:
            memory = await self._waiting.get()
            if self._waiting.qsize() < self._waiting.maxsize / 2:
                await self._give_way()
            async for _ in self._background.pieces((memory,)):
                try:
                    await self._settle(memory)
                except AfterwitError as e:
                    logger.warning("conflicts of %s are not settled now: %s", memory.id, e)
                except Exception:  # the root of this task
                    logger.exception("conflicts of %s could not be settled", memory.id)

    async def _give_way(self) -> None:
        try:
            async with asyncio.timeout(_LONGEST_S):
                await self._over.wait()
        except TimeoutError:
            pass
