"""Notices under an agent's own credentials, which allow only the pools that it could read when it connected."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from nats.aio.client import Client

from ...schemas import Notice
from ..connection import watch
from ..notices import Notices
from .hub import Subscription

OnNotice = Callable[[Notice], None]


@dataclass(eq=False, slots=True)
class _Listener:
    pool: str | None
    on_notice: OnNotice
    feed: AgentFeed

    async def unsubscribe(self) -> None:
        await self.feed.remove(self)


class AgentFeed:
    """A `Feed` for one agent. Close it at the end.

    A grant reaches a NATS connection when it connects next. So notices have a connection of their own: where a pool is
    wanted that was not yet readable when that was made, another one takes its place.

    ``connect`` makes a connection with the agent's credentials; ``readable`` gives the pools that it may read now.
    ``on_gap`` may be set: it is called when the connection was away, and with it what was published meanwhile.
    """

    on_gap: Callable[[], None] | None = None

    def __init__(
        self, connect: Callable[[], Awaitable[Client]], readable: Callable[[], Awaitable[frozenset[str]]]
    ) -> None:
        self._connect = connect
        self._readable = readable
        self._listeners: set[_Listener] = set()
        self._changing = asyncio.Lock()
        self._nc: Client | None = None
        self._allowed: frozenset[str] = frozenset()
        self._pools: dict[str, Subscription] = {}

    async def subscribe(self, on_notice: OnNotice, pool: str | None = None) -> Subscription:
        """Call ``on_notice`` for each notice of ``pool``; without one, for those of all pools readable now.

        Raises:
            Unavailable: NATS or the nodes are away.
        """
        async with self._changing:
            wanted = frozenset({pool}) if pool is not None else await self._readable()
            if self._nc is None or self._nc.is_closed or not wanted <= self._allowed:
                await self._renew()
            assert self._nc is not None
            for name in wanted - self._pools.keys():
                self._pools[name] = await self._opened(self._nc, name)
            listener = _Listener(pool, on_notice, self)
            self._listeners.add(listener)
            return listener

    async def remove(self, listener: _Listener) -> None:
        """Tell ``listener`` nothing more."""
        async with self._changing:
            self._listeners.discard(listener)
            needed = {listener.pool for listener in self._listeners}
            if None not in needed:
                for name in self._pools.keys() - needed:
                    await self._pools.pop(name).unsubscribe()

    async def close(self) -> None:
        """End all, and the connection."""
        async with self._changing:
            self._listeners.clear()
            self._pools.clear()
            if self._nc is not None:
                await self._nc.close()

    async def _renew(self) -> None:
        # Asked before connecting: what is granted in between is then merely not known yet.
        allowed = await self._readable()
        nc = await self._connect()
        try:
            pools = {name: await self._opened(nc, name) for name in self._pools if name in allowed}
        except BaseException:  # the one before goes on
            await nc.close()
            raise
        watch(nc, back=self._came_back)
        old, self._nc = self._nc, nc
        self._allowed, self._pools = allowed, pools
        if old is not None:
            await old.close()

    async def _opened(self, nc: Client, pool: str) -> Subscription:
        return await Notices(nc, nc.jetstream()).subscribe(self._take, pool)

    def _came_back(self) -> None:
        if self.on_gap is not None:
            self.on_gap()

    def _take(self, notice: Notice) -> None:
        for listener in tuple(self._listeners):
            if listener.pool is None or listener.pool == notice.pool:
                listener.on_notice(notice)
