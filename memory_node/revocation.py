"""What happens when a pool is taken from an agent: everything of the agent's that lives on what it had ends."""

from __future__ import annotations

import asyncio
import logging

from nats.aio.client import Client

from ..bus.identity.callout import Disconnect
from ..bus.identity.connections import pool_tag
from ..bus.revocation import announce

logger = logging.getLogger(__name__)


class Revocation:
    """Ends NATS connections, and has gateways end their streams. Call it after the registry was changed.

    Without ``disconnect`` (no credentials of NATS's system account) connections live on until they expire, up to a
    quarter of an hour, with the notices that they could hear.
    """

    def __init__(self, nc: Client, disconnect: Disconnect | None) -> None:
        self._nc = nc
        self._disconnect = disconnect

    async def __call__(self, agent: str, pool: str) -> None:
        """``agent`` has lost ``pool``, or will sooner than it was told.

        Raises:
            Unavailable, TimedOut: something may live on; call it again.
        """
        await asyncio.gather(self._end_connections(agent, pool), announce(self._nc, agent))

    async def _end_connections(self, agent: str, pool: str) -> None:
        if self._disconnect is None:
            logger.warning("%s lost %s; its NATS connections cannot be ended here, they expire", agent, pool)
            return
        ended = await self._disconnect(agent, tag=pool_tag(pool))
        logger.info("%s lost %s; %d NATS connections were ended", agent, pool, ended)
