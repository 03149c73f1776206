"""Workers of the ingest stream: services publish, these store. What is refused is answered and kept, never lost."""

from __future__ import annotations

import heapq
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec
from nats.aio.client import Client

from ..bus import instrumentation, names
from ..bus.dead_letters import DeadLetters
from ..bus.headers import content_type_of
from ..bus.ingest import reject
from ..schemas import (
    AfterwitError,
    Internal,
    Invalid,
    Quota,
    Store,
    StoreReply,
    TimedOut,
    Unauthenticated,
    Unavailable,
    codec,
)
from ..schemas.words import PoolName
from .access import Access
from .operations.storing import Item, Storing
from .quota import Quotas, ingest_cost

logger = logging.getLogger(__name__)

MAX_DELIVERIES: Final = 20
_RETRY_DELAY_S: Final = 2.0
MOST_PARKED: Final = 20_000
"""Items over quota that wait at the server for their turn, for this node. What comes beyond is stored at once: if such
items filled the server's list of what is under way, those of other agents would wait for them."""
_OVERDUE_S: Final = 60.0
"""So long after its turn an item that has not come again is not expected here any more."""


class Queued(Protocol):
    """An item of the stream: a message of its consumer, or one that overtakes."""

    @property
    def subject(self) -> str:
        """Where it was published."""

    @property
    def data(self) -> bytes:
        """A store request."""

    @property
    def headers(self) -> Mapping[str, str] | None:
        """Its own."""

    @property
    def metadata(self) -> Any:
        """``sequence.stream`` and ``num_delivered``, as of a consumer's message."""

    async def ack(self) -> None:
        """It is stored, or refused for good."""

    async def nak(self, delay: float | None = None) -> None:
        """It is to come again, after ``delay`` seconds."""


class IngestWorker:
    """Handles batches of the ingest stream for one node.

    An item over its agent's quota is not refused: it comes again when its turn is. Within a batch, whoever has little
    goes first, so that one agent's import does not hold up what others bring.
    """

    def __init__(
        self,
        nc: Client,
        storing: Storing,
        dead: DeadLetters,
        access: Access,
        quotas: Quotas,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._nc = nc
        self._access = access
        self._quotas = quotas
        self._clock = clock
        self._parked: set[int] = set()
        self._turns: list[tuple[float, int]] = []
        """A heap of when the turn of each comes, by ``clock``, and which it is."""
        self._storing = storing
        self.behind = 0
        """How many items were in the stream behind the last that came."""
        self.agents: frozenset[str] = frozenset()
        """Whose items came last."""
        self._dead = dead

    def is_parked(self, seq: int) -> bool:
        """Whether the item at ``seq`` is over quota, and waits for its turn."""
        return seq in self._parked

    async def handle_next(self, messages: Sequence[Queued]) -> None:
        """`handle` what the consumer brings, and note how it stands with the queue."""
        self.behind = messages[-1].metadata.num_pending
        self.agents = frozenset(
            names.parse_ingest(message.subject)[0] for message in messages if message.subject != names.INGEST_FILLER
        )
        await self.handle(messages)

    async def handle(self, messages: Sequence[Queued]) -> None:
        """Store a batch, by agent; ack what is in the log, refuse what never will be."""
        by_agent: dict[str, list[tuple[Queued, Item]]] = {}
        for message in messages:
            if message.subject == names.INGEST_FILLER:
                await message.ack()
                continue
            try:
                agent, item = _parsed(message)
            except AfterwitError as e:
                await self._refuse(message, e)
            else:
                if not await self._park(message, agent, item):
                    by_agent.setdefault(agent, []).append((message, item))
        for agent, batch in sorted(by_agent.items(), key=lambda each: len(each[1])):
            outcomes = await self._stored(agent, [item for _, item in batch])
            instrumentation.INGESTED.add(len(outcomes))
            for (message, _), outcome in zip(batch, outcomes, strict=True):
                await self._settle(message, outcome)

    async def _park(self, message: Queued, agent: str, item: Item) -> bool:
        """Whether the item is over quota, and waits at the server until its turn comes.

        It waits once at most: what comes again has waited here, or at another node.
        """
        seq = message.metadata.sequence.stream
        if seq in self._parked or message.metadata.num_delivered > 1:
            self._parked.discard(seq)
            return False
        wait_s = self._quotas.reserve(agent, ingest_cost(item.request))
        self._forget_overdue()
        if not wait_s or len(self._parked) >= MOST_PARKED:
            return False
        self._parked.add(seq)
        heapq.heappush(self._turns, (self._clock() + wait_s, seq))
        await message.nak(delay=wait_s)
        return True

    def _forget_overdue(self) -> None:
        """Another node got those, or gets them."""
        now = self._clock()
        while self._turns and self._turns[0][0] + _OVERDUE_S <= now:
            self._parked.discard(heapq.heappop(self._turns)[1])

    async def _stored(self, agent: str, items: list[Item]) -> list[StoreReply | AfterwitError]:
        """What is in the queue is judged by what holds now, not by what held when it came."""
        try:
            if await self._access.revoked(agent):
                raise Unauthenticated(f"the agent {agent} was revoked")
            return await self._storing.store_ingested(agent, items)
        except AfterwitError as e:
            return [e] * len(items)
        except Exception:  # it may be one item's fault alone, and the others are not to wait for it
            if len(items) > 1:
                return [outcome for item in items for outcome in await self._stored(agent, [item])]
            logger.exception("an ingested item of %s cannot be stored", agent)
            return [Internal("the node failed; its log has the details")]

    async def _settle(self, message: Queued, outcome: StoreReply | AfterwitError) -> None:
        match outcome:
            case StoreReply():
                await message.ack()
            case Unavailable() | TimedOut() | Internal() | Quota() if message.metadata.num_delivered < MAX_DELIVERIES:
                logger.warning("ingested item %d waits: %s", message.metadata.sequence.stream, outcome)
                await message.nak(delay=_RETRY_DELAY_S)
            case _:
                await self._refuse(message, outcome)

    async def _refuse(self, message: Queued, error: AfterwitError) -> None:
        agent, _ = names.parse_ingest(message.subject)
        await self._dead.bury("ingest", message.subject, message.data, f"{error.code}: {error}", _own(message))
        await reject(self._nc, agent, error, _readable(message))
        await message.ack()


def _own(message: Queued) -> dict[str, str] | None:
    return dict(message.headers) if message.headers else None


def _readable(message: Queued) -> Any:
    """The payload as its sender will recognise it, whatever it is."""
    try:
        return codec.decode(message.data, object, content_type_of(message.headers))
    except AfterwitError:
        return message.data.decode("utf-8", "replace")


class _Addressed(msgspec.Struct):
    pool: PoolName


def _parsed(message: Queued) -> tuple[str, Item]:
    agent, named = names.parse_ingest(message.subject)
    pool = codec.convert({"pool": named}, _Addressed).pool  # NATS lets other characters pass
    request = codec.decode(message.data, Store, content_type_of(message.headers))
    if request.pool not in (None, pool):
        raise Invalid(
            f"pool: it is {request.pool} in the payload and {pool} in the subject: leave it out", field="pool"
        )
    return agent, Item.ingested(agent, pool, request, message.metadata.sequence.stream)
