"""Which turn came before: what a turn of a conversation, or an event of a session, is indexed together with.

Settled once, when a memory is written, and kept in its log entry, so that a redelivery, a replay and a rebuild find the
same (design §3). It is the newest turn of the same author, in the same pool and session, that this node knows; what it
does not know it looks up in the index once. Without a session, turns of talk that were said within half an hour of
each other are one conversation. A wrong or missing guess costs a little precision and nothing else.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final, TypeAlias

from ..schemas import Memory, TimeRange, Unavailable
from .index import Index, IndexFilter, is_turn, speaker

logger = logging.getLogger(__name__)

ONE_CONVERSATION: Final = timedelta(minutes=30)
_REMEMBERED: Final = 4096
_NEWEST: Final = 8

_Line: TypeAlias = tuple[str, str, str | None]


class Turns:
    """Remembers the newest turn of each conversation that this node has written to."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._newest: OrderedDict[_Line, Memory | None] = OrderedDict()

    async def before(self, memories: Sequence[Memory]) -> list[Memory | None]:
        """For each of ``memories``, which are about to be written in this order, the turn before it."""
        found: list[Memory | None] = []
        for memory in memories:
            if not _in_a_line(memory):
                found.append(None)
                continue
            line = (memory.pool, memory.author, memory.session_id)
            if line not in self._newest:
                self._newest[line] = await self._looked_up(memory)
            newest = self._newest[line]
            follows = newest is not None and _follows(memory, newest)
            found.append(newest if follows and newest and set(newest.labels) <= set(memory.labels) else None)
            if newest is None or follows or not _follows(newest, memory):
                self._newest[line] = memory
            self._newest.move_to_end(line)
            if len(self._newest) > _REMEMBERED:
                self._newest.popitem(last=False)
        return found

    def forget(self, ids: Iterable[str]) -> None:
        """These were archived or purged: nothing that is written from now on knows of them."""
        gone = set(ids)
        for line, memory in list(self._newest.items()):
            if memory is not None and memory.id in gone:
                del self._newest[line]

    async def _looked_up(self, memory: Memory) -> Memory | None:
        since = None if memory.session_id else memory.occurred_at - ONE_CONVERSATION
        where = IndexFilter(
            pools=(memory.pool,),
            author=memory.author,
            session_id=memory.session_id,
            time_range=TimeRange(start=since, end=memory.occurred_at + timedelta(microseconds=1)),
            statuses_hidden=frozenset({"archived", "quarantined"}),
        )
        try:
            newest = await self._index.find(where, limit=_NEWEST)
        except Unavailable as e:
            logger.warning("a turn is indexed without the one before it: %s", e)
            return None
        candidates = [m for m in newest if m.id != memory.id and _in_a_line(m) and m.session_id == memory.session_id]
        return max(candidates, key=lambda m: (m.occurred_at, m.turn or 0, m.seq or 0), default=None)


def _in_a_line(memory: Memory) -> bool:
    """Whether it may have a turn before it: an event, or talk that is stored without a session."""
    return is_turn(memory) or speaker(memory) is not None


def _follows(memory: Memory, other: Memory) -> bool:
    """Whether ``memory`` comes after ``other`` in one conversation."""
    if memory.id == other.id:
        return False
    if memory.session_id is not None:
        if memory.turn is not None and other.turn is not None and memory.turn != other.turn:
            return memory.turn > other.turn
        return memory.occurred_at >= other.occurred_at
    return timedelta() <= memory.occurred_at - other.occurred_at <= ONE_CONVERSATION
