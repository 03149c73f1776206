"""One client that watches resources, and what it is still to be told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from mcp.shared.subscriptions import ResourceUpdated

from .access import Credential
from .events import Event


class Watcher:
    """A client's open stream or session.

    An event says "read this again", so an event that is already waiting stands for later ones of its kind too: a slow
    client costs at most one waiting event per URI that it watches, and still learns that each of them changed.

    Iterate to take the events; the iteration ends after `close`, once all waiting events were taken, or at once after
    `end`.

    ``credential`` is what the client shows now: a stream's never changes, a session (``lasting``) outlives its tokens.
    """

    def __init__(
        self,
        agent: str,
        *,
        lists: bool = False,
        lasting: bool = False,
        credential: Callable[[], Credential] | None = None,
    ) -> None:
        self.agent = agent
        self.lists = lists
        self.lasting = lasting
        self._credential = credential or (lambda: Credential(agent))
        self.uris: set[str] = set()
        self._waiting: dict[Event, None] = {}
        self._woken = asyncio.Event()
        self._closed = False

    @property
    def credential(self) -> Credential:
        """Who it is, and by which token."""
        return self._credential()

    @property
    def closed(self) -> bool:
        """Whether it takes no more events."""
        return self._closed

    def offer(self, event: Event) -> None:
        """Tell the client, if it asked for this."""
        wanted = event.uri in self.uris if isinstance(event, ResourceUpdated) else self.lists
        if wanted and not self._closed:
            self._waiting[event] = None
            self._woken.set()

    def drop(self, uri: str) -> None:
        """Forget a URI, and what is waiting about it."""
        self.uris.discard(uri)
        self._waiting.pop(ResourceUpdated(uri=uri), None)

    def close(self) -> None:
        """Take no further events."""
        self._closed = True
        self._woken.set()

    def end(self) -> None:
        """Take no further events, and give none of those that are waiting."""
        self._waiting.clear()
        self.close()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            while self._waiting:
                event = next(iter(self._waiting))
                del self._waiting[event]
                yield event
            if self._closed:
                return
            self._woken.clear()
            await self._woken.wait()
