"""Workers of the ingest stream: services publish, these store. What is refused is answered and kept, never lost."""

from __future__ import annotations

import logging
from typing import Any, Final

from nats.aio.client import Client
from nats.aio.msg import Msg

from ..bus import names
from ..bus.dead_letters import DeadLetters
from ..bus.ingest import reject
from ..schemas import AfterwitError, Invalid, Store, StoreReply, TimedOut, Unauthenticated, Unavailable, codec
from .access import Access
from .operations.storing import Item, Storing

logger = logging.getLogger(__name__)

MAX_DELIVERIES: Final = 20
_RETRY_DELAY_S: Final = 2.0


class IngestWorker:
    """Handles batches of the ingest stream for one node."""

    def __init__(self, nc: Client, storing: Storing, dead: DeadLetters, access: Access) -> None:
        self._nc = nc
        self._access = access
        self._storing = storing
        self._dead = dead

    async def handle(self, messages: list[Msg]) -> None:
        """Store a batch, by agent; ack what is in the log, refuse what never will be."""
        by_agent: dict[str, list[tuple[Msg, Item]]] = {}
        for message in messages:
            try:
                agent, item = _parsed(message)
            except AfterwitError as e:
                await self._refuse(message, e)
            else:
                by_agent.setdefault(agent, []).append((message, item))
        for agent, batch in by_agent.items():
            outcomes = await self._stored(agent, [item for _, item in batch])
            for (message, _), outcome in zip(batch, outcomes, strict=True):
                await self._settle(message, outcome)

    async def _stored(self, agent: str, items: list[Item]) -> list[StoreReply | AfterwitError]:
        """What is in the queue is judged by what holds now, not by what held when it came."""
        try:
            if await self._access.revoked(agent):
                raise Unauthenticated(f"the agent {agent} was revoked")
            return await self._storing.store_ingested(agent, items)
        except AfterwitError as e:
            return [e] * len(items)

    async def _settle(self, message: Msg, outcome: StoreReply | AfterwitError) -> None:
        match outcome:
            case StoreReply():
                await message.ack()
            case Unavailable() | TimedOut() if message.metadata.num_delivered < MAX_DELIVERIES:
                logger.warning("ingested item %d waits: %s", message.metadata.sequence.stream, outcome)
                await message.nak(delay=_RETRY_DELAY_S)
            case _:
                await self._refuse(message, outcome)

    async def _refuse(self, message: Msg, error: AfterwitError) -> None:
        agent, _ = names.parse_ingest(message.subject)
        await self._dead.bury("ingest", message.subject, message.data, f"{error.code}: {error}", message.headers)
        await reject(self._nc, agent, error, _readable(message))
        await message.ack()


def _readable(message: Msg) -> Any:
    """The payload as its sender will recognise it, whatever it is."""
    try:
        return codec.decode(message.data, object, _content_type(message))
    except AfterwitError:
        return message.data.decode("utf-8", "replace")


def _content_type(message: Msg) -> str:
    return (message.headers or {}).get(names.CONTENT_TYPE, codec.JSON)


def _parsed(message: Msg) -> tuple[str, Item]:
    agent, pool = names.parse_ingest(message.subject)
    request = codec.decode(message.data, Store, _content_type(message))
    if request.pool not in (None, pool):
        raise Invalid(
            f"pool: it is {request.pool} in the payload and {pool} in the subject: leave it out", field="pool"
        )
    return agent, Item.ingested(agent, pool, request, message.metadata.sequence.stream)
