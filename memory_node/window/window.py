"""What a window must be able to do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from ...schemas import LogEntry, Memory


class Window(Protocol):
    """Keeps the recent memories of every session. Writes are conditional on the log sequence."""

    async def put(self, entries: Sequence[LogEntry]) -> None:
        """Bring the windows of the entries' sessions up to date; entries without a session are passed over.

        The entries must be in the index already. Never raises for an engine that is away: the window is rebuilt from
        the index when it is next read.
        """

    async def recent(self, agent: str, session_id: str) -> list[Memory] | None:
        """The session's newest memories in the order of their turns; ``None`` if there is no window, or no whole one.

        Raises:
            Unavailable: the engine is away.
        """

    async def rebuild(
        self, agent: str, session_id: str, read: Callable[[], Awaitable[Sequence[Memory]]]
    ) -> Sequence[Memory]:
        """Build the window from what ``read`` finds in the index, oldest first; answers the same.

        Never raises for an engine that is away.
        """

    async def clear(self) -> None:
        """Throw all windows away; each is made anew from the index when it is next read.

        Raises:
            Unavailable: the engine is away.
        """

    async def close(self) -> None:
        """Let go of the engine."""

    @property
    def state(self) -> str:
        """``ok`` or ``away``."""
