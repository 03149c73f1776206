"""Looking after a pool: what is over is archived, and what was missed is caught up with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from ...bus.log import Log
from ...schemas import Memory
from ...schemas.reflection import ForgetOperation
from .ageing import due
from .reflector import Material

MOST: Final = 500
"""Memories that one review lets go of; the next one goes on."""
_PAGE: Final = 256
_LOOKED_AGAIN: Final = timedelta(days=2)
_MOST_LOOKED_AGAIN: Final = 50


class Review:
    """Reads a whole pool from the log. ``settle`` looks for the conflicts of one memory."""

    def __init__(
        self,
        *,
        log: Log,
        usefulness: Callable[[str], float],
        settle: Callable[[Memory], Awaitable[object]],
    ) -> None:
        self._log = log
        self._usefulness = usefulness
        self._settle = settle

    async def operations(self, pool: str, now: datetime) -> tuple[list[ForgetOperation], dict[str, int]]:
        """What is to be archived, and the sequences at which that was decided."""
        found: list[ForgetOperation] = []
        seen: dict[str, int] = {}
        after = 0
        while len(found) < MOST:
            records, following = await self._log.page(after, pool, _PAGE)
            if following == after:
                break
            latest = await self._log.latest_many(
                [record.entry.memory.id for record in records], {r.entry.memory.id: pool for r in records}
            )
            for record in records:
                memory = record.entry.memory
                newest = latest.get(memory.id)
                if newest is None or newest.seq != record.seq:
                    continue
                why = due(memory, now, self._usefulness(memory.id))
                if why is not None:
                    found.append(ForgetOperation(id=memory.id, evidence=(memory.id,), because=why))
                    seen[memory.id] = record.seq
            after = following
        return found[:MOST], seen

    async def look_again(self, material: Material) -> None:
        """Look for the conflicts of what is new: a node may have died, or the index been away, after it was stored."""
        new = [m for m in material.knowledge if material.now - m.updated_at < _LOOKED_AGAIN and m.status != "disputed"]
        for memory in new[-_MOST_LOOKED_AGAIN:]:
            await self._settle(memory)
