"""From notices on NATS to the clients that watch, in both eras of the protocol.

Each watched pool is one NATS subscription, however many clients watch it. The notices of a pool that wait at one moment
are handled together: one read says who may see them now, then every watcher among those is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Final, Protocol

import anyio
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from ...schemas import AfterwitError, Get, GetReply, Memory, NotFound, Notice
from ...schemas.uris import POOLS, EntityUri, MemoryRef, PoolsUri, PoolUri, SessionUri, memory_uri, parse_uri
from .access import Access, Credential
from .events import Event, entity_named, events_of, names, pool_of, session_of, session_owner
from .node import Node
from .watcher import Watcher

logger = logging.getLogger(__name__)

_RETRY_PAUSE_S: Final = 0.2
_TRIES: Final = 50
_MAX_WAITING: Final = 10_000
_UNSUBSCRIBE_TIMEOUT_S: Final = 1.0


class Subscription(Protocol):
    """A subscription to notices."""

    async def unsubscribe(self) -> None:
        """End it."""
        ...


class Feed(Protocol):
    """Where notices come from, as `afterwit.bus.notices.Notices` has it."""

    async def subscribe(self, on_notice: Callable[[Notice], None], pool: str | None = None) -> Subscription:
        """Call ``on_notice`` for every notice of ``pool``, or of all pools, that is published from now on."""
        ...


class Hub:
    """The watchers of this process. An async context manager; leaving it ends them all."""

    def __init__(self, feed: Feed, access: Access, node: Node) -> None:
        self._feed = feed
        self._access = access
        self._node = node
        self._watchers: set[Watcher] = set()
        self._lists: set[Watcher] = set()
        self._by_uri: defaultdict[str, set[Watcher]] = defaultdict(set)
        self._entities: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self._keepers: Counter[str] = Counter()
        self._wishes: Counter[str | None] = Counter()
        self._subscriptions: dict[str | None, Subscription] = {}
        self._changing = asyncio.Lock()
        self._waiting: dict[str, list[Notice]] = {}
        self._tasks = asyncio.TaskGroup()
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Hub:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        for task in self._running:
            task.cancel()
        await self._tasks.__aexit__(kind, error, trace)

    @property
    def watchers(self) -> int:
        """How many clients watch now."""
        return len(self._watchers)

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        """Run ``work``, which handles its own errors, until it ends or the hub is left."""
        task = self._tasks.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def close(self) -> None:
        """End all watchers in order: each takes what is waiting for it, and then the end."""
        for watcher in self._watchers:
            watcher.close()

    async def look_again(self, agent: str) -> int:
        """``agent`` has lost something: end its streams that live on it, without a further event; how many.

        A stream ends if its token is no longer good, or if it watches something in a pool that the agent may no longer
        read. A handshake session goes on without what it may no longer watch: it is ended by its requests being
        refused, or by the gateway. Who watches lists learns that they have changed.

        Raises:
            AfterwitError: it could not be read what the agent may do.
        """
        watchers = [watcher for watcher in self._watchers if watcher.agent == agent]
        if not watchers:
            return 0
        live = await self._access.live({watcher.credential for watcher in watchers})
        pools = {pool for watcher in watchers for uri in watcher.uris if (pool := pool_of(uri)) is not None}
        lost = {pool for pool in pools if not await self._access.readers(pool, {agent})}
        ended = 0
        for watcher in watchers:
            gone = [uri for uri in watcher.uris if pool_of(uri) in lost]
            if not watcher.lasting and (gone or watcher.credential not in live):
                watcher.end()
                ended += 1
                continue
            for uri in gone:
                await self.unwatch(watcher, uri)
            watcher.offer(ResourceUpdated(uri=POOLS))
            watcher.offer(ResourcesListChanged())
        return ended

    @asynccontextmanager
    async def watching(self, watcher: Watcher, uris: Iterable[str] = ()) -> AsyncIterator[None]:
        """Tell ``watcher`` what happens to ``uris``, and to those that `watch` adds, while the block runs.

        Raises:
            NotFound: one of them is not there, or not for this agent.
        """
        self._watchers.add(watcher)
        try:
            if watcher.lists:
                await self._want(None)
                self._lists.add(watcher)
            for uri in uris:
                await self.watch(watcher, uri)
            yield
        finally:
            watcher.end()
            self._watchers.discard(watcher)
            with anyio.CancelScope(shield=True):
                if watcher in self._lists:
                    self._lists.discard(watcher)
                    await self._unwant(None)
                for uri in list(watcher.uris):
                    await self.unwatch(watcher, uri)

    async def watch(self, watcher: Watcher, uri: str) -> None:
        """Tell ``watcher`` what happens to ``uri`` from now on.

        Raises:
            NotFound: it is not there, or not for this agent.
            Invalid: it is no URI of ours.
        """
        await self._check(watcher.agent, uri)
        await self._want(pool_of(uri))
        if not watcher.closed and uri not in watcher.uris:
            watcher.uris.add(uri)
            self._by_uri[uri].add(watcher)
            if session_owner(uri) is not None:
                self._keepers[watcher.agent] += 1
            if (entity := entity_named(uri)) is not None:
                self._entities[str(pool_of(uri))][uri] = entity
        else:  # it left, or watched this already
            await self._unwant(pool_of(uri))

    async def unwatch(self, watcher: Watcher, uri: str) -> None:
        """Tell ``watcher`` no more about ``uri``."""
        if uri not in watcher.uris:
            return
        watcher.drop(uri)
        self._by_uri[uri].discard(watcher)
        if not self._by_uri[uri]:
            del self._by_uri[uri]
            if entity_named(uri) is not None:
                del self._entities[str(pool_of(uri))][uri]
        if session_owner(uri) is not None:
            self._keepers[watcher.agent] -= 1
        await self._unwant(pool_of(uri))

    async def announce_gap(self) -> None:
        """Notices may have been missed: tell every watcher to read again what it watches and may read.

        While it cannot be read who may what (NATS has come back, and its streams have not), this is tried again.
        """
        while True:
            try:
                return await self._tell_of_gap()
            except AfterwitError as e:
                logger.warning("could not tell yet that notices may have been missed: %s", e)
                await asyncio.sleep(_RETRY_PAUSE_S)

    async def _tell_of_gap(self) -> None:
        credentials = await self._access.live({watcher.credential for watcher in self._watchers})
        live = {watcher for watcher in self._watchers if watcher.credential in credentials}
        by_pool: defaultdict[str | None, set[str]] = defaultdict(set)
        for uri in self._by_uri:
            by_pool[pool_of(uri)].add(uri)
        for pool, uris in by_pool.items():
            watchers = {watcher for uri in uris for watcher in self._by_uri.get(uri, ())}
            agents = {watcher.agent for watcher in watchers}
            readers = agents if pool is None else await self._access.readers(pool, agents)
            for watcher in watchers & live:
                for uri in uris if watcher.agent in readers else ():
                    watcher.offer(ResourceUpdated(uri=uri))
        for watcher in self._lists & live:
            watcher.offer(ResourcesListChanged())

    async def _check(self, agent: str, uri: str) -> None:
        match parse_uri(uri):
            case PoolsUri():
                return
            case SessionUri(owner, _) if owner == agent:
                return
            case PoolUri(pool) | EntityUri(pool) if await self._access.readers(pool, {agent}):
                return
            case MemoryRef(pool, id, cursor=None) if await self._access.readers(pool, {agent}):
                await self._node.ask(agent, Get(uri=memory_uri(pool, id)), GetReply)
                return
        raise NotFound(f"{uri} is not there, or not for you")

    def _on_notice(self, topic: str | None, notice: Notice) -> None:
        if topic is not None and None in self._subscriptions:
            return  # it comes under the subscription to everything as well
        waiting = self._waiting.get(notice.pool)
        if waiting is None:
            self._waiting[notice.pool] = [notice]
            self.spawn(self._deliver(notice.pool))
        elif len(waiting) < _MAX_WAITING:
            waiting.append(notice)
        else:
            logger.warning("%d notices of %s wait for delivery; one more is left out", _MAX_WAITING, notice.pool)

    async def _deliver(self, pool: str) -> None:
        failures = 0
        try:
            while batch := self._waiting[pool]:
                self._waiting[pool] = []
                try:
                    await self._tell(pool, batch)
                    failures = 0
                except AfterwitError as e:
                    failures += 1
                    logger.warning("could not deliver %d notices of %s: %s", len(batch), pool, e)
                    if failures < _TRIES:
                        self._waiting[pool] = (batch + self._waiting[pool])[-_MAX_WAITING:]
                        await asyncio.sleep(_RETRY_PAUSE_S)
        except Exception:  # the root of this task: the next notice starts a new one
            logger.exception("notices of %s were not delivered", pool)
        finally:
            del self._waiting[pool]

    async def _tell(self, pool: str, batch: list[Notice]) -> None:
        events = dict.fromkeys(event for notice in batch for event in events_of(notice))
        keepers = {agent for agent, sessions in self._keepers.items() if sessions}
        keepers |= {watcher.agent for uri in self._entities.get(pool, ()) for watcher in self._by_uri[uri]}
        agents = {watcher.agent for event in events for watcher in self._interested(event)} | keepers
        if not agents:
            return
        credentials = {watcher.credential for watcher in self._watchers if watcher.agent in agents}
        readers, live = await asyncio.gather(self._access.readers(pool, agents), self._access.live(credentials))
        for event in events:
            for watcher in self._interested(event):
                if watcher.agent in readers and watcher.credential in live:
                    watcher.offer(event)
        for agent in keepers & readers:
            await self._tell_by_content(agent, pool, batch, live)

    async def _tell_by_content(self, agent: str, pool: str, batch: list[Notice], live: AbstractSet[Credential]) -> None:
        """A notice does not say which session its memory belongs to, nor what it names; the memory does."""
        entities = {
            uri: name
            for uri, name in self._entities.get(pool, {}).items()
            if any(watcher.agent == agent for watcher in self._by_uri[uri])
        }
        for notice in {notice.uri: notice for notice in batch}.values():
            touched = set[str | None]()
            for memory in await self._versions(agent, notice, before=bool(entities)):
                touched.add(session_of(memory, agent))
                touched.update(
                    uri for uri, name in entities.items() if memory.status == "purged" or names(memory, name)
                )
            for uri in touched - {None}:
                event = ResourceUpdated(uri=str(uri))
                for watcher in self._interested(event):
                    if watcher.agent == agent and watcher.credential in live:
                        watcher.offer(event)

    async def _versions(self, agent: str, notice: Notice, *, before: bool) -> list[Memory]:
        """The memory now and, with ``before``, as it was: it may have ceased to name what it named."""
        found = []
        for version in (None, notice.version - 1) if before and notice.version > 1 else (None,):
            try:
                found.append((await self._node.ask(agent, Get(uri=notice.uri, version=version), GetReply)).memory)
            except NotFound:
                continue  # gone, or no longer for this agent
        return found

    def _interested(self, event: Event) -> set[Watcher]:
        return self._by_uri.get(event.uri, set()) if isinstance(event, ResourceUpdated) else self._lists

    async def _want(self, topic: str | None) -> None:
        async with self._changing:
            if topic not in self._subscriptions:
                self._subscriptions[topic] = await self._feed.subscribe(partial(self._on_notice, topic), topic)
            self._wishes[topic] += 1

    async def _unwant(self, topic: str | None) -> None:
        async with self._changing:
            self._wishes[topic] -= 1
            if not self._wishes[topic]:
                del self._wishes[topic]
                subscription = self._subscriptions.pop(topic)
                with anyio.move_on_after(_UNSUBSCRIBE_TIMEOUT_S, shield=True):
                    await subscription.unsubscribe()
