"""Looking after a pool: what is over is archived, what is known twice is merged, what was missed is caught up with."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...bus.log import Log, LogRecord
from ...schemas import Memory, Retention
from ...schemas.reflection import ForgetOperation, ReflectOperation, UpdateOperation
from ..index import Calibration, raw_vector
from .ageing import due
from .merging import ALIKE, Merge, Pair, duplicates, is_compared
from .reflector import Material
from .thinking import Thinking

MOST: Final = 600
"""Operations of one review; the next one goes on."""
_MOST_MERGED: Final = 50
_MOST_COMPARED: Final = 2000
"""Pieces of knowledge that are held against each other: the newest."""
_MOST_PAIRS: Final = 1000
"""…that are judged: some seconds of computing."""
_PAGE: Final = 256
_LOOKED_AGAIN: Final = timedelta(days=2)
_MOST_LOOKED_AGAIN: Final = 50


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What is to be done, the sequences at which that was decided, and how many duplicates stay."""

    operations: list[ReflectOperation]
    seen: dict[str, int]
    duplicates: int


class Review:
    """Reads a whole pool from the log.

    ``settle`` looks for the conflicts of one memory; ``retention`` says for how long a pool is kept.
    """

    def __init__(
        self,
        *,
        log: Log,
        calibration: Calibration,
        thinking: Thinking,
        usefulness: Callable[[str], float],
        settle: Callable[[Memory], Awaitable[object]],
        retention: Callable[[str], Awaitable[Retention]],
    ) -> None:
        self._log = log
        self._calibration = calibration
        self._thinking = thinking
        self._usefulness = usefulness
        self._settle = settle
        self._retention = retention

    async def look(self, pool: str, now: datetime) -> Reviewed:
        """What is over, and what is known twice."""
        retention = await self._retention(pool)
        over: list[ReflectOperation] = []
        seen: dict[str, int] = {}
        known: deque[LogRecord] = deque(maxlen=_MOST_COMPARED)
        async for record in self._newest(pool):
            memory = record.entry.memory
            why = due(memory, now, self._usefulness(memory.id), retention)
            if why is None and is_compared(memory):
                known.append(record)
            elif why is not None and len(over) < MOST - 2 * _MOST_MERGED:
                over.append(ForgetOperation(id=memory.id, evidence=(memory.id,), because=why))
                seen[memory.id] = record.seq
        merged, left = await self._merged(pool, list(known), seen)
        return Reviewed([*merged, *over], seen, left)

    async def look_again(self, material: Material) -> None:
        """Look for the conflicts of what is new: a node may have died, or the index been away, after it was stored."""
        new = [m for m in material.knowledge if material.now - m.updated_at < _LOOKED_AGAIN and m.status != "disputed"]
        for memory in new[-_MOST_LOOKED_AGAIN:]:
            await self._settle(memory)

    async def _newest(self, pool: str) -> AsyncIterator[LogRecord]:
        """The newest version of each memory of the pool."""
        after = 0
        while True:
            records, following = await self._log.page(after, pool, _PAGE)
            if following == after:
                return
            ids = [record.entry.memory.id for record in records]
            latest = await self._log.latest_many(ids, dict.fromkeys(ids, pool))
            for record in records:
                newest = latest.get(record.entry.memory.id)
                if newest is not None and newest.seq == record.seq:
                    yield record
            after = following

    async def _merged(
        self, pool: str, known: Sequence[LogRecord], seen: dict[str, int]
    ) -> tuple[list[ReflectOperation], int]:
        """Operations that merge duplicates, whose sequences are added to ``seen``; and how many duplicates stay."""
        records = [r for r in known if r.entry.embedding and r.entry.embedding.model == self._calibration.model]
        if len(records) < 2:
            return [], 0
        memories = {record.entry.memory.id: record for record in records}
        pairs = await asyncio.to_thread(self._alike, records)
        found = await self._thinking.run(duplicates, [record.entry.memory for record in records], pairs)
        operations: list[ReflectOperation] = []
        left = len(found.kept)
        for merge in found.merges:
            if len(operations) >= 2 * _MOST_MERGED - 1 or await self._was_restored(merge.repeated, pool):
                left += 1
                continue
            operations += _operations(merge, memories[merge.keeper].entry.memory)
            seen |= {id: memories[id].seq for id in (merge.keeper, merge.repeated)}
        return operations, left

    def _alike(self, records: Sequence[LogRecord]) -> list[Pair]:
        """The pairs of ``records`` that are similar enough to be compared; of very many the most similar."""
        vectors = self._calibration.apply(
            np.stack([raw_vector(record.entry.embedding) for record in records if record.entry.embedding]),
            [record.entry.memory.content for record in records],
            "passage",
        )
        least = self._cosine_of(ALIKE)
        pairs: list[Pair] = []
        for i in range(len(records) - 1):
            cosines: NDArray[np.float32] = vectors[i + 1 :] @ vectors[i]
            near = np.flatnonzero(cosines >= least)
            pairs += [(i, i + 1 + int(j), self._calibration.unit(float(cosines[j]), "passage")) for j in near]
        return sorted(pairs, key=lambda pair: -pair[2])[:_MOST_PAIRS]

    def _cosine_of(self, unit: float) -> float:
        """The least cosine that is ``unit`` on the calibrated scale, which rises with it."""
        low, high = -1.0, 1.0
        for _ in range(24):
            middle = (low + high) / 2
            low, high = (low, middle) if self._calibration.unit(middle, "passage") >= unit else (middle, high)
        return high

    async def _was_restored(self, id: str, pool: str) -> bool:
        """Whether somebody brought it back: then it is not taken away again."""
        return any(version.entry.change == "restored" for version in await self._log.history(id, pool))


def _operations(merge: Merge, keeper: Memory) -> list[ReflectOperation]:
    """What is repeated becomes evidence of the one that stays, and is archived."""
    operations: list[ReflectOperation] = [
        ForgetOperation(id=merge.repeated, evidence=(merge.keeper,), because=f"{merge.keeper} says the same")
    ]
    if merge.repeated not in {link.target for link in keeper.links}:
        said = f"{merge.repeated} said the same"
        operations.insert(0, UpdateOperation(id=merge.keeper, evidence=(merge.repeated,), because=said))
    return operations
