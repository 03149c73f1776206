"""Conflicts of what was imported: looked for afterwards, one memory at a time, since nobody waits for the answer.

While an import is under way its items go first, up to `MOST_WAITING` memories: that they can be found is waited for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Final

from ..schemas import AfterwitError, Memory
from .contradicting import is_knowledge
from .giving_way import Background, Way

logger = logging.getLogger(__name__)

MOST_WAITING: Final = 4096
"""Then an import waits for them. What waits when a node ends, the pool's review looks at (`Review`)."""
_LONGEST_S: Final = 0.25
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
        self._imports = Way()
        self._waiting: asyncio.Queue[Memory] = asyncio.Queue(most)

    def importing(self) -> AbstractContextManager[None]:
        """As long as the block runs, an import is under way."""
        return self._imports.serving()

    async def take(self, memory: Memory) -> None:
        """See to ``memory`` later; waits while too many wait already."""
        if is_knowledge(memory) and memory.seq is not None:
            await self._waiting.put(memory)

    async def run(self, stop: asyncio.Event) -> None:
        """Until ``stop`` is set."""
        working = asyncio.create_task(self._work(), name="settling: work")
        try:
            await stop.wait()
        finally:
            working.cancel()
            await asyncio.wait((working,))

    async def _work(self) -> None:
        while True:
            crowded = self._waiting.full()
            memory = await self._waiting.get()
            if not crowded:  # then an import waits for us
                await self._imports.clear(_LONGEST_S)
            async for _ in self._background.pieces((memory,)):
                try:
                    await self._settle(memory)
                except AfterwitError as e:
                    logger.warning("conflicts of %s are not settled now: %s", memory.id, e)
                except Exception:  # the root of this task
                    logger.exception("conflicts of %s could not be settled", memory.id)
