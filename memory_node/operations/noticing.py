"""`changes`: what happened while a client was away, or what happens next."""

from __future__ import annotations

import asyncio

from ...bus.notices import Notices
from ...bus.rpc import Caller
from ...schemas import Changes, ChangesReply
from ..access import Access


class Noticing:
    """Reads the stream of notices under the caller's permissions."""

    def __init__(self, *, access: Access, notices: Notices) -> None:
        self._access = access
        self._notices = notices

    async def changes(self, caller: Caller, request: Changes) -> ChangesReply:
        """A page of notices; waits for the first one up to ``wait_ms``.

        Access may end during the wait. Then it goes on as if it had been asked anew: what happens in a pool that is
        no longer there for the caller does not even wake it.

        Raises:
            NotFound: one of the pools asked for is not there for the caller, or no longer.
        """
        now = asyncio.get_running_loop().time
        deadline = now() + request.wait_ms / 1000
        cursor, left_ms = request.cursor, request.wait_ms
        while True:
            pools = await self._access.readable(caller.agent, request.pools)
            notices, cursor = await self._notices.since(pools, cursor, request.limit, left_ms)
            if not left_ms:
                return ChangesReply(notices=tuple(notices), cursor=cursor)
            still = await self._access.still(caller.agent)
            told = tuple(notice for notice in notices if notice.pool in still)
            left_ms = max(0, int((deadline - now()) * 1000)) if still else 0
            if told or not left_ms:
                return ChangesReply(notices=told, cursor=cursor)
