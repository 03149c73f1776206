"""One allowance for each agent, however many nodes there are: each node charges what the others have let in as well.

A node decides by what it knows, so no request waits for another node, and what it lets in it tells a moment later. What
several nodes let in at the same moment is owed on all of them afterwards. A node alone does the same, and nobody hears.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import Final

from nats.aio.client import Client

from ..bus.connection import unsubscribe
from ..bus.spending import Spent, hear, tell
from .quota import Cost, Quotas
from .repeating import repeated

TELLS_EVERY_S: Final = 0.2


class SharedQuotas:
    """Keeps the allowances of this node in step with those of the others."""

    def __init__(self, nc: Client, quotas: Quotas, *, every_s: float = TELLS_EVERY_S) -> None:
        self._nc = nc
        self._quotas = quotas
        self._every_s = every_s
        self._node = secrets.token_hex(8)

    async def run(self, stop: asyncio.Event) -> None:
        """Tell and hear, until ``stop``."""
        subscription = await hear(self._nc, self._node, self._charge)
        try:
            await repeated(self._tell, self._every_s, stop, what="telling what agents use")
        finally:
            await unsubscribe(subscription)

    async def _tell(self) -> None:
        if spent := self._quotas.spent():
            by_agent = {agent: (cost.requests, cost.bytes, cost.items) for agent, cost in spent.items()}
            await tell(self._nc, Spent(node=self._node, by_agent=by_agent))

    def _charge(self, spent: Spent) -> None:
        for agent, (requests, bytes_, items) in spent.by_agent.items():
            self._quotas.charge(agent, Cost(requests=requests, bytes=bytes_, items=items))
