"""`context`: the working set of one of the caller's sessions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from ...bus.rpc import Caller
from ...schemas import Context, ContextReply, Memory, Unavailable
from ..access import Access
from ..index import Index, IndexFilter
from ..window import Window, select
from ..window.selection import in_order
from ..window.valkey import GONE, MAX_TURNS

logger = logging.getLogger(__name__)


class Contextual:
    """Reads the window; where it was lost, rebuilds it from the index; where its engine is away, does without."""

    def __init__(self, *, access: Access, window: Window, index: Index) -> None:
        self._access = access
        self._window = window
        self._index = index

    async def context(self, caller: Caller, request: Context) -> ContextReply:
        """What to put in front of the model now, in the order in which it happened."""
        memories = await self._memories(caller.agent, request.session_id)
        readable = set(await self._access.readable(caller.agent))
        selected = select([memory for memory in memories if memory.pool in readable], request.max_tokens)
        return ContextReply(session_id=request.session_id, turns=selected.memories, tokens=selected.tokens)

    async def _memories(self, agent: str, session_id: str) -> Sequence[Memory]:
        from_index = partial(self._from_index, agent, session_id)
        try:
            memories = await self._window.recent(agent, session_id)
        except Unavailable as e:
            logger.warning("a context comes from the index: %s", e)
            return await from_index()
        return await self._window.rebuild(agent, session_id, from_index) if memories is None else memories

    async def _from_index(self, agent: str, session_id: str) -> Sequence[Memory]:
        pools = await self._access.readable(agent)
        where = IndexFilter(pools=pools, session_id=session_id, author=agent, statuses_hidden=GONE)
        return in_order(await self._index.find(where, limit=MAX_TURNS))
