"""When an agent loses something, what it has open here ends: at once where we are told, on time where it was known."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Final, Protocol

from ...schemas import AfterwitError, AgentRecord
from .hub import Hub
from .sessions import Sessions

logger = logging.getLogger(__name__)

_MARGIN_S: Final = 0.01


class Register(Protocol):
    """The part of `afterwit.bus.identity.Agents` that is needed here."""

    async def get(self, name: str) -> AgentRecord | None:
        """An agent's record."""
        ...


class Endings:
    """Ends sessions and streams. ``spawn`` runs what is to be done later, for as long as the gateway lives."""

    def __init__(
        self,
        register: Register,
        hub: Hub,
        sessions: Sessions,
        spawn: Callable[[Coroutine[None, None, None]], None],
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._register = register
        self._hub = hub
        self._sessions = sessions
        self._spawn = spawn
        self._now = now
        self._timers: dict[str, tuple[datetime, asyncio.TimerHandle]] = {}

    async def look_again(self, agent: str) -> None:
        """End what ``agent`` has open and may no longer have. When this returns, no further event reaches it.

        Raises:
            AfterwitError: what it may have cannot be read now; the check of each event still holds.
        """
        record = await self._register.get(agent)
        now = self._now()
        tokens = () if record is None or record.revoked_at is not None else record.tokens
        live = {token.sha256 for token in tokens if token.expires_at is None or token.expires_at > now}
        sessions = await self._sessions.look_again(agent, live)
        streams = await self._hub.look_again(agent)
        if sessions or streams:
            logger.info("%s lost something: %d sessions and %d streams were ended", agent, sessions, streams)
        for token in tokens:
            if token.expires_at is not None and token.expires_at > now:
                self.expect(agent, token.expires_at)

    def expect(self, agent: str, end: datetime) -> None:
        """A token of ``agent`` ends at ``end``: look again then."""
        if agent in self._timers:
            earlier, timer = self._timers[agent]
            if earlier <= end:
                return
            timer.cancel()
        delay_s = max((end - self._now()).total_seconds(), 0.0) + _MARGIN_S
        timer = asyncio.get_running_loop().call_later(delay_s, self._ended, agent)
        self._timers[agent] = (end, timer)

    def close(self) -> None:
        """Expect nothing more."""
        for _, timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _ended(self, agent: str) -> None:
        del self._timers[agent]
        self._spawn(self._look_again_later(agent))

    async def _look_again_later(self, agent: str) -> None:
        try:
            await self.look_again(agent)
        except AfterwitError as e:  # the root of a task: each event is checked all the same
            logger.warning("could not look again at what %s may have: %s", agent, e)
