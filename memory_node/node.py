"""A memory node: its parts put together, started and stopped in order.

Opened in this order, closed in the reverse one: connection and streams, embedder, index, windows, notices, indexer,
ingest workers, looking back, auth callout, requests. So requests are the last to be taken and the first to be refused.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Final

from .. import __version__
from ..bus import names
from ..bus.admin import AdminServer, Task
from ..bus.announcing import Announcer
from ..bus.connection import unsubscribe
from ..bus.consumer import consume
from ..bus.dead_letters import DeadLetters
from ..bus.erasing import Eraser
from ..bus.identity import Agents, PoolRegistry
from ..bus.identity.callout import serve_callout
from ..bus.ingest import Waiting
from ..bus.jobs import Jobs
from ..bus.log import Log
from ..bus.notices import Notices
from ..bus.revocation import hear
from ..bus.rpc import Handler, RequestServer
from ..bus.streams import kept_streams
from ..bus.usage import UsageLog
from ..bus.usefulness import Usefulness
from ..schemas import Notice, Unavailable
from ..schemas.admin import DeadDrop, DeadList, DeadRetry, Rebuild
from .access import Access
from .burials import Burials
from .composition import connected, consuming, disconnector, embedder_of, reflector_of, reranker_of
from .contradicting import Contradicting
from .erasing import Erasing
from .filling import Filling
from .giving_way import Background, Way
from .guard import Guard
from .index import Calibration, Index
from .index_of import index_of
from .indexer import Indexer
from .inference import Embedder, EmbeddingClient, Models
from .ingest import MOST_PARKED, IngestWorker
from .looking_back import Surroundings, looking_back
from .operations.changing import Changing
from .operations.contextual import Contextual
from .operations.describing import Describing
from .operations.listing import Listing
from .operations.noticing import Noticing
from .operations.pooling import Pooling
from .operations.purging import Purging
from .operations.reading import Reading
from .operations.retrieving import Retrieving
from .operations.storing import Storing
from .operations.tracing import Tracing
from .overtaking import Overtaking
from .parting import Parting
from .pool_health import PoolHints, PoolsHealth
from .quota import Quotas
from .rebuilding import Rebuilding, batches_of
from .reflection.thinking import Apart
from .retrieval.finding import Finding
from .revocation import Revocation
from .settings import NodeSettings
from .settling import Settling
from .sharing_quotas import SharedQuotas
from .tokens import counter_of
from .turns import Turns
from .visibility import SeqWaiter, Visibility
from .window import ValkeyWindow
from .window.selection import budget_for
from .write_path import WritePath

logger = logging.getLogger(__name__)

INGEST_BATCH: Final = 64
"""Small enough that one batch's embedding (about a second on two cores) is done well before its redelivery."""
INGEST_AT_ONCE: Final = 6
"""While one batch is embedded, others are appended and indexed, and what is on its way together is indexed together:
with three, two nodes over an index by URL did .83 of what one does, and with six 1.1."""
INDEX_AT_ONCE: Final = 8
"""One batch is worked on at a time; but what somebody waits for is not to stand behind it."""
INGEST_PENDING: Final = 5 * MOST_PARKED
"""Room at the server for the items over quota that several nodes have sent back."""


def _now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def running(  # noqa: PLR0915  # a node's parts, one after the other in the order in which they are opened
    settings: NodeSettings,
    *,
    clock: Callable[[], datetime] = _now,
    embedder: Embedder | None = None,
    on_failed: Callable[[], None] | None = None,
) -> AsyncIterator[None]:
    """A node that serves for as long as the block runs. ``embedder`` takes the place of the model of the settings.

    ``on_failed`` is called if NATS ends one of its connections for good, or a part of it, such as the indexer, fails:
    from then on it cannot do all that it should. A part's error is raised when the block ends.
    """
    async with AsyncExitStack() as stack:
        nc = await connected(stack, settings, "afterwit node", settings.nats_credentials, on_failed)
        js = nc.jetstream()
        await stack.enter_async_context(kept_streams(js, replicas=settings.jetstream_replicas))

        model = embedder or await embedder_of(stack, settings)
        embeddings = await stack.enter_async_context(EmbeddingClient(model))
        index_dir = settings.data_dir / "index"
        calibration = await asyncio.to_thread(Calibration.load_or_measure, model, index_dir)
        index = await stack.enter_async_context(index_of(settings, calibration))
        window = ValkeyWindow(settings.redis_url)
        stack.push_async_callback(window.close)
        way = Way()
        count = counter_of(settings.tokenizer)

        log = Log(nc, replicas=settings.jetstream_replicas)
        if index.created:
            await index.rebuilt(batches_of(log, Background(way)))
        replicas = settings.jetstream_replicas
        notices, announcer = Notices(nc, js, replicas=replicas), Announcer.on(nc, log, replicas=replicas)
        dead = DeadLetters(js)
        agents, registry = Agents(nc, replicas=replicas, now=clock), PoolRegistry(nc, replicas=replicas, now=clock)
        end_connections = await disconnector(stack, settings, on_failed)
        quotas = Quotas(settings.limits)
        access, guard, visibility = Access(registry, agents), Guard(), Visibility()
        write_path = WritePath(log, embeddings, index, visibility, visible_within_s=settings.visible_within_s)

        thinking = await stack.enter_async_context(Apart())
        contradicting, contradicting_apart, contradicting_later = (
            Contradicting(
                log=log,
                index=index,
                calibration=calibration,
                write_path=write_path,
                clock=clock,
                thinking=where,
                wait=wait,
            )
            for where, wait in ((None, True), (thinking, True), (thinking, False))
        )
        settling = Settling(contradicting_later.settle, Background(way))
        storing = Storing(
            access=access,
            guard=guard,
            log=log,
            write_path=write_path,
            contradicting=contradicting,
            settling=settling,
            background=Background(way),
            js=js,
            clock=clock,
        )
        purging = Purging(access=access, log=log, notices=notices, visibility=visibility, clock=clock)
        changing = Changing(
            access=access,
            guard=guard,
            log=log,
            index=index,
            write_path=write_path,
            purging=purging,
            contradicting=contradicting,
            clock=clock,
        )
        reading = Reading(access=access, log=log)
        usefulness = await stack.enter_async_context(Usefulness(nc))
        jobs = Jobs(nc, replicas=replicas)
        health = PoolsHealth(index=index, jobs=jobs, clock=clock)
        hints = PoolHints(health, clock)
        retrieving = Retrieving(
            access=access,
            models=Models(embeddings, await reranker_of(stack, settings)),
            finding=Finding(index, log, calibration),
            usage=UsageLog(nc, js, usefulness),
            waiter=SeqWaiter(log, index, visibility, way),
            hints=hints.about,
            count=count,
            clock=clock,
        )
        pooling = Pooling(
            access=access,
            agents=agents,
            registry=registry,
            index=index,
            health=health,
            lost=Revocation(nc, end_connections),
            clock=clock,
        )
        tracing = Tracing(access=access, log=log, index=index, calibration=calibration)
        noticing = Noticing(access=access, notices=notices)
        handlers: Mapping[str, Handler] = {
            "store": storing.store,
            "store_many": storing.store_many,
            "get": reading.get,
            "history": reading.history,
            "retrieve": retrieving.retrieve,
            "list": Listing(access=access, log=log).page,
            "entity": Describing(access=access, index=index, calibration=calibration, clock=clock).entity,
            "feedback": retrieving.feedback,
            "explain": retrieving.explain,
            "trace": tracing.trace,
            "update": changing.update,
            "link": changing.link,
            "share": changing.share,
            "forget": changing.forget,
            "changes": noticing.changes,
            "pools": pooling.pools,
            "pool_create": pooling.create,
            "pool_set": pooling.set,
            "pool_grant": pooling.grant,
            "pool_revoke": pooling.revoke,
            "health": pooling.health,
        }

        back = looking_back(
            settings,
            Surroundings(
                nc=nc,
                js=js,
                access=access,
                agents=agents,
                registry=registry,
                guard=guard,
                log=log,
                index=index,
                write_path=write_path,
                contradicting=contradicting_apart,
                calibration=calibration,
                jobs=jobs,
                dead=dead,
                thinking=thinking,
                reflector=await reflector_of(stack, settings, thinking),
                usefulness=usefulness.of,
                clock=clock,
            ),
        )
        contextual = Contextual(
            access=access,
            window=window,
            index=index,
            embeddings=embeddings,
            jobs=jobs if settings.reflect_on_overflow else None,
            clock=clock,
            budget=budget_for(settings.model_context),
            count=count,
        )
        handlers = {**handlers, **back.handlers, "context": contextual.context}

        subscription = await notices.subscribe(
            functools.partial(_on_notice, visibility, embeddings, index, write_path.turns, contextual)
        )
        stack.push_async_callback(unsubscribe, subscription)
        eraser = Eraser(nc)
        erasing = await stack.enter_async_context(
            Erasing(
                log=log,
                index=index,
                window=window,
                announcer=announcer,
                eraser=eraser,
                jobs=jobs,
                parting=Parting(log=log, index=index, write_path=write_path, eraser=eraser),
                background=Background(way),
                clock=clock,
                on_visible=visibility.on_notice,
            )
        )
        indexer = Indexer(
            index,
            window,
            announcer,
            dead,
            erasing,
            Background(way),
            on_visible=visibility.on_notice,
            on_indexed=back.triggers.hear,
        )
        keep = functools.partial(consuming, stack, on_failed=on_failed)
        await keep(
            names.INDEXER,
            functools.partial(consume, js, names.LOG, names.INDEXER, indexer.handle, at_once=INDEX_AT_ONCE),
        )
        worker = IngestWorker(nc, storing, dead, access, quotas)
        await keep(
            names.INGESTER,
            functools.partial(
                consume,
                js,
                names.INGEST,
                names.INGESTER,
                worker.handle_next,
                batch=INGEST_BATCH,
                at_once=INGEST_AT_ONCE,
                max_ack_pending=INGEST_PENDING,
            ),
        )
        await keep("quotas", SharedQuotas(nc, quotas).run)
        await keep("hints", hints.run)
        await keep("filling", Filling(index, log, write_path, Background(way)).run)
        await keep("settling", settling.run)
        await keep("overtaking", Overtaking(Waiting(nc), worker).run)
        for name, loop in back.loops.items():
            await keep(name, loop)
        if settings.nats_callout_credentials:
            serving = serve_callout(
                settings.nats_url,
                settings.nats_callout_credentials,
                agents,
                registry,
                disconnect=end_connections,
                tls=settings.nats_tls,
                on_closed=on_failed,
            )
            callout = await stack.enter_async_context(serving)
            stack.push_async_callback(unsubscribe, await hear(nc, callout.look_again))

        def components() -> dict[str, str]:
            return {"nats": "ok", "index": index.state, "window": window.state, "inference": embeddings.health}

        await stack.enter_async_context(
            AdminServer(nc, _tasks(Rebuilding(log, index, window, Background(way)), Burials(dead, log, indexer)))
        )
        await stack.enter_async_context(
            RequestServer(
                nc,
                quotas.guarding(way.first(handlers)),
                components=components,
                version=__version__,
                work=lambda: {"indexed": indexer.indexed},
            )
        )
        logger.info("the node serves %d operations", len(handlers))
        yield


def _on_notice(
    visibility: Visibility,
    embeddings: EmbeddingClient,
    index: Index,
    turns: Turns,
    contextual: Contextual,
    notice: Notice,
) -> None:
    visibility.on_notice(notice)
    if notice.change in {"archived", "purged"}:
        turns.forget([notice.id])
    if notice.change == "purged":
        embeddings.forget_texts()
        index.forget([notice.id])
        contextual.forget([notice.id])


def _tasks(rebuilding: Rebuilding, burials: Burials) -> dict[str, Task]:
    """What this node does for an operator."""
    return {
        "rebuild": Task(Rebuild, rebuilding.rebuild),
        "dead_list": Task(DeadList, burials.list),
        "dead_retry": Task(DeadRetry, burials.retry),
        "dead_drop": Task(DeadDrop, burials.drop),
    }


async def main(settings: NodeSettings, *, embedder: Embedder | None = None) -> None:
    """Run a node until SIGTERM or SIGINT; ``embedder`` as for `running`.

    Raises:
        Unavailable: NATS has ended a connection of it for good; started anew, it may have another.
        Exception: what a part of it has failed with, likewise.
    """
    stop = asyncio.Event()
    failed = asyncio.Event()

    def on_failed() -> None:
        failed.set()
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with running(settings, embedder=embedder, on_failed=on_failed):
        await stop.wait()
        logger.info("the node stops")
    if failed.is_set():
        raise Unavailable("NATS has ended a connection of the node for good; what it said stands in the log")
