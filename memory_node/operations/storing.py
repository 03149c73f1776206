"""`store`, `store_many` and the ingest stream: three ways to ask for the same thing."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace
from nats.js import JetStreamContext

from ...bus import ingest
from ...bus.log import Log, LogRecord, WrongLastSequence
from ...bus.rpc import Caller
from ...schemas import (
    AfterwitError,
    GuardFinding,
    Internal,
    Invalid,
    Memory,
    Store,
    StoreMany,
    StoreManyReply,
    StoreReply,
    StoreResult,
    codec,
)
from ...schemas.uris import memory_uri
from ...schemas.words import TRUST_OF_SOURCE, Ack
from ..access import Access, private_pool
from ..contradicting import Contradicting
from ..giving_way import Background
from ..guard import Guard
from ..ids import derived_id, new_id
from ..inference import Priority
from ..links import caused_by, check_all_found, check_in_time, readable_records
from ..settling import Settling
from ..write_path import Draft, WritePath


@dataclass(frozen=True, slots=True)
class Item:
    """One store request under way: its pool is settled, and the id it will have.

    It may be ``repeated`` if it has a key of the caller's own, who may have used it before.
    """

    request: Store
    pool: str
    id: str
    repeated: bool

    @classmethod
    def of(cls, agent: str, request: Store) -> Item:
        """A request that came by request/reply.

        One that is only to be accepted goes through the ingest stream: it gets a key, so that the id it is
        promised now is the one it has there.
        """
        pool = request.pool or private_pool(agent)
        repeated = request.idempotency_key is not None
        if request.ack == "accepted" and not request.idempotency_key:
            request = replace(request, idempotency_key=f"accepted:{new_id()}")
        key = request.idempotency_key
        return cls(request, pool, derived_id(agent, pool, key) if key else new_id(), repeated=repeated)

    @classmethod
    def ingested(cls, agent: str, pool: str, request: Store, stream_seq: int) -> Item:
        """A request from the ingest stream: without a key its place there makes a redelivery the same item."""
        key = request.idempotency_key
        id = derived_id(agent, pool, key) if key else derived_id(agent, pool, "ingest", str(stream_seq))
        return cls(request, pool, id, repeated=key is not None)

    @property
    def digest(self) -> str:
        """Tells whether a repeated key came with the same request (SHA-256, hex)."""
        request = self.request
        plain = replace(
            request,
            pool=self.pool,
            idempotency_key=None,
            ack="visible",
            occurred_at=_utc(request.occurred_at),
            valid_from=_utc(request.valid_from),
            expires_at=_utc(request.expires_at),
        )
        return hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()


class Storing:
    """Brings new memories in."""

    def __init__(  # noqa: PLR0913  # each is another part of the path that a store takes
        self,
        *,
        access: Access,
        guard: Guard,
        log: Log,
        write_path: WritePath,
        contradicting: Contradicting,
        settling: Settling,
        background: Background,
        js: JetStreamContext,
        clock: Callable[[], datetime],
    ) -> None:
        self._access = access
        self._guard = guard
        self._log = log
        self._write_path = write_path
        self._contradicting = contradicting
        self._settling = settling
        self._background = background
        self._js = js
        self._clock = clock

    async def store(self, caller: Caller, request: Store) -> StoreReply:
        """One memory."""
        item = Item.of(caller.agent, request)
        priority = Priority.STORE
        (result,) = await self._store(caller.agent, [item], accepted=request.ack == "accepted", priority=priority)
        if isinstance(result, AfterwitError):
            raise result
        return result

    async def store_many(self, caller: Caller, request: StoreMany) -> StoreManyReply:
        """Many memories, each judged alone."""
        parsed = [self._parsed(item, request.ack) for item in request.items]
        items = [Item.of(caller.agent, store) for store in parsed if isinstance(store, Store)]
        stored = iter(await self._store_all(caller.agent, items, accepted=request.ack == "accepted"))
        results = [next(stored) if isinstance(store, Store) else store for store in parsed]
        return StoreManyReply(results=tuple(_as_result(result) for result in results))

    async def _store_all(
        self, agent: str, items: Sequence[Item], *, accepted: bool
    ) -> list[StoreReply | AfterwitError]:
        """Piece by piece. What befalls a later piece is told of its items and those after it: the rest is stored."""
        outcomes: list[StoreReply | AfterwitError] = []
        try:
            async for piece in self._background.pieces(items):
                outcomes += await self._store(agent, piece, accepted=accepted, priority=Priority.BULK)
        except AfterwitError as e:
            if not outcomes:
                raise
            outcomes += [e] * (len(items) - len(outcomes))
        return outcomes

    async def store_ingested(self, agent: str, items: Sequence[Item]) -> list[StoreReply | AfterwitError]:
        """A batch from the ingest stream; answered when it can be found, or soon where the index is away.

        So an import runs no faster than it is indexed, and whoever stores beside it waits behind one batch, not behind
        all of it.
        """
        outcomes: list[StoreReply | AfterwitError] = []
        with self._settling.importing():
            async for piece in self._background.pieces(items):
                outcomes += await self._store(agent, piece, accepted=False, priority=Priority.BULK, settled_later=True)
        return outcomes

    async def _store(
        self,
        agent: str,
        items: Sequence[Item],
        *,
        accepted: bool,
        priority: Priority,
        settled_later: bool = False,
    ) -> list[StoreReply | AfterwitError]:
        """Check everything, then let through what may pass. One outcome per item, in order."""
        refused = await self._refused_pools(agent, {item.pool for item in items})
        causes = await readable_records(
            self._log, self._access, agent, (id for item in items for id in item.request.caused_by)
        )
        known = await self._log.latest_many([item.id for item in items if item.repeated])
        outcomes: list[StoreReply | AfterwitError | None] = [None] * len(items)
        drafts: list[tuple[int, Draft, tuple[GuardFinding, ...]]] = []
        for i, item in enumerate(items):
            try:
                if item.pool in refused:
                    raise refused[item.pool]
                check_all_found("caused_by", item.request.caused_by, causes)
                check_in_time(agent, item.request, causes)
                if record := known.get(item.id):
                    outcomes[i] = await self._repeated(item, record)
                    continue
                texts, findings = self._guard.inspect(agent, {"content": item.request.content})
                drafts.append((i, self._draft(agent, item, texts["content"], causes), findings))
            except AfterwitError as e:
                outcomes[i] = e
        if accepted:
            await self._enqueue(agent, [items[i] for i, _, _ in drafts])
            for i, draft, findings in drafts:
                outcomes[i] = StoreReply(memory=draft.memory, created=True, guard=findings)
        else:
            written = await self._write_path.write([draft for _, draft, _ in drafts], priority=priority)
            for (i, _, findings), result in zip(drafts, written, strict=True):
                outcomes[i] = await self._outcome(items[i], result, findings, settled_later=settled_later)
        return [outcome or Internal("a store was not answered") for outcome in outcomes]

    async def _outcome(
        self, item: Item, result: Memory | Exception, findings: tuple[GuardFinding, ...], *, settled_later: bool
    ) -> StoreReply | AfterwitError:
        match result:
            case Memory() if settled_later:
                await self._settling.take(result)
                return StoreReply(memory=result, created=True, guard=findings)
            case Memory():
                memory, conflicts = await self._contradicting.settle(result)
                return StoreReply(memory=memory, created=True, conflicts=conflicts, guard=findings)
            case WrongLastSequence():  # somebody stored under the same key just now: two retries that met
                record = await self._log.latest(item.id, item.pool)
                if record is None:
                    return Internal(f"the log refused {item.id} as known, and does not know it")
                try:
                    return await self._repeated(item, record)
                except AfterwitError as e:
                    return e
            case AfterwitError():
                return result
            case _:
                raise result

    async def _repeated(self, item: Item, record: LogRecord) -> StoreReply:
        if record.entry.memory.status == "purged":  # nothing is kept that could tell what it held
            return StoreReply(memory=record.entry.memory, created=False)
        if record.entry.request_digest != item.digest:
            raise Invalid(
                f"idempotency_key: it was used for another content, stored as {item.id}: choose another key",
                field="idempotency_key",
                id=item.id,
            )
        memory = record.entry.memory
        return StoreReply(memory=await self._write_path.ensure_visible(memory), created=False)

    async def _refused_pools(self, agent: str, pools: set[str]) -> dict[str, AfterwitError]:
        refused = {}
        for pool in pools:
            try:
                await self._access.require(agent, pool, "writer")
            except AfterwitError as e:
                refused[pool] = e
        return refused

    async def _enqueue(self, agent: str, items: Sequence[Item]) -> None:
        """Put checked items into the ingest stream. The key carries the id that was promised."""
        await asyncio.gather(*(ingest.publish(self._js, agent, item.pool, item.request) for item in items))

    def _draft(self, agent: str, item: Item, content: str, causes: dict[str, LogRecord]) -> Draft:
        request, now = item.request, self._clock()
        trust = TRUST_OF_SOURCE[request.source]
        memory = Memory(
            id=item.id,
            uri=memory_uri(item.pool, item.id),
            pool=item.pool,
            tier=request.tier,
            kind=request.kind,
            content=content,
            data=request.data,
            session_id=request.session_id,
            turn=request.turn,
            entities=request.entities,
            tags=request.tags,
            labels=request.labels,
            task_type=request.task_type,
            fact=request.fact,
            author=agent,
            source=request.source,
            trust=trust,
            confidence=trust if request.confidence is None else request.confidence,
            importance=request.importance,
            links=caused_by(request.kind, request.caused_by, causes),
            occurred_at=_utc(request.occurred_at) or now,
            valid_from=_utc(request.valid_from),
            expires_at=_utc(request.expires_at),
            pinned=request.pinned,
            created_at=now,
            updated_at=now,
            version=1,
        )
        return Draft(memory=memory, change="created", actor=agent, expected_seq=0, request_digest=item.digest)

    @staticmethod
    def _parsed(item: object, ack: Ack) -> Store | AfterwitError:
        try:
            return replace(codec.convert(item, Store), ack=ack)
        except AfterwitError as e:
            return e


def _utc(time: datetime | None) -> datetime | None:
    return time.astimezone(UTC) if time else None


def _as_result(outcome: StoreReply | AfterwitError) -> StoreResult:
    if isinstance(outcome, AfterwitError):
        return StoreResult(error=outcome.body)
    return StoreResult(memory=outcome.memory, created=outcome.created, conflicts=outcome.conflicts, guard=outcome.guard)
