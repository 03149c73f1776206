"""`changes`: what happened while a client was away, or what happens next."""

from __future__ import annotations

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
        """A page of notices; waits for the first one up to ``wait_ms``."""
        pools = await self._access.readable(caller.agent, request.pools)
        notices, cursor = await self._notices.since(pools, request.cursor, request.limit, request.wait_ms)
        if request.wait_ms and notices:  # a grant may have ended while we waited
            still = set(await self._access.roles(caller.agent))
            notices = [notice for notice in notices if notice.pool in still]
        return ChangesReply(notices=tuple(notices), cursor=cursor)
