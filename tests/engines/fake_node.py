"""A node of a hundred lines: enough of the operations to try the gateway without a memory node."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import msgspec
from opentelemetry import trace

from afterwit.schemas import (
    AfterwitError,
    Changes,
    ChangesReply,
    Context,
    ContextReply,
    Entity,
    EntityMeaning,
    EntityMemory,
    EntityReply,
    Get,
    GetReply,
    Health,
    HealthReply,
    History,
    HistoryReply,
    Memory,
    NotFound,
    Notice,
    PoolHealth,
    PoolInfo,
    Pools,
    PoolsReply,
    Retrieve,
    RetrievedItem,
    RetrieveReply,
    Stale,
    Store,
    StoreReply,
    Update,
    UpdateReply,
    VersionRecord,
)
from afterwit.schemas.uris import memory_uri

HEALTH = PoolHealth(active=1, archived_share=0.0, mean_confidence=0.5, open_conflicts=0)


class FakeNode:
    """Memories in a dict. ``members`` says who may use which shared pool; `calls` keeps what was asked."""

    def __init__(self, members: dict[str, set[str]] | None = None) -> None:
        self.members = members or {}
        self.memories: dict[str, list[Memory]] = {}
        self.notices: list[Notice] = []
        self.told: Callable[[Notice], Awaitable[None]] | None = None
        self.failure: AfterwitError | None = None
        self.calls: list[tuple[str, str, msgspec.Struct, str]] = []

    async def call(
        self,
        agent: str,
        op: str,
        request: msgspec.Struct,
        *,
        timeout_s: float | None = None,
    ) -> msgspec.Struct:
        self.calls.append((agent, op, request, _trace_id()))
        if self.failure is not None:
            raise self.failure
        answer: Callable[[str, msgspec.Struct], Awaitable[msgspec.Struct]] | None = getattr(self, op, None)
        if answer is None:
            raise NotFound(f"nobody serves {op}")
        return await answer(agent, request)

    def may_read(self, agent: str, pool: str) -> bool:
        return pool == f"agent/{agent}" or agent in self.members.get(pool, ())

    def readable(self, agent: str) -> list[str]:
        return [f"agent/{agent}", *sorted(pool for pool, members in self.members.items() if agent in members)]

    async def store(self, agent: str, request: Store) -> StoreReply:
        pool = request.pool or f"agent/{agent}"
        self._check(agent, pool)
        id = str(uuid.uuid4())
        now = datetime.now(UTC)
        memory = Memory(
            id=id, uri=memory_uri(pool, id), pool=pool, tier=request.tier, kind=request.kind, content=request.content,
            data=request.data, session_id=request.session_id, turn=request.turn, tags=request.tags,
            entities=request.entities, author=agent, source=request.source, trust=0.4, confidence=0.4,
            importance=request.importance, occurred_at=now, created_at=now, updated_at=now, version=1,
            seq=len(self.notices) + 1,
        )  # fmt: skip
        self.memories[id] = [memory]
        await self._tell(memory, "created", agent)
        return StoreReply(memory=memory, created=True)

    async def update(self, agent: str, request: Update) -> UpdateReply:
        old = self._find(agent, request.id)
        if old.version != request.expected_version:
            raise Stale(f"it is at version {old.version}", current_version=old.version)
        new = msgspec.structs.replace(old, version=old.version + 1, content=request.content or old.content)
        self.memories[old.id].append(new)
        await self._tell(new, "updated", agent)
        return UpdateReply(memory=new)

    async def get(self, agent: str, request: Get) -> GetReply:
        id = request.id or (request.uri or "").rpartition("/")[2]
        memory = self._find(agent, id)
        if request.uri is not None and memory.uri != request.uri:
            raise NotFound("not there, or not for you")
        return GetReply(memory=memory if request.version is None else self.memories[id][request.version - 1])

    async def history(self, agent: str, request: History) -> HistoryReply:
        self._find(agent, request.id)
        return HistoryReply(
            versions=tuple(
                VersionRecord(
                    version=m.version,
                    change="updated",
                    at=m.updated_at,
                    actor=m.author,
                    changes={"content": ("a", "b")},
                )
                for m in self.memories[request.id][int(request.cursor or 0) :]
            )
        )

    async def retrieve(self, agent: str, request: Retrieve) -> RetrieveReply:
        found = [
            RetrievedItem(memory=m, score=0.9, signals={"semantic": 0.9, "keyword": 0.8}, why="its words")
            for m in self._visible(agent)
            if any(word in m.content for word in request.query.split())
        ][: request.top_k]
        return RetrieveReply(items=tuple(found), retrieval_id="r1", no_answer=not found, total_candidates=len(found))

    async def context(self, agent: str, request: Context) -> ContextReply:
        turns = tuple(m for m in self._visible(agent) if m.session_id == request.session_id and m.author == agent)
        return ContextReply(session_id=request.session_id, turns=turns, tokens=len(turns))

    async def entity(self, agent: str, request: Entity) -> EntityReply:
        self._check(agent, request.pool)
        named = [m for m in self._visible(agent) if m.pool == request.pool and request.name in m.content]
        if not named:
            raise NotFound("nothing names it")
        meaning = EntityMeaning(memories=len(named), events=tuple(EntityMemory(memory=m) for m in named))
        return EntityReply(pool=request.pool, name=request.name, meanings=(meaning,))

    async def changes(self, agent: str, request: Changes) -> ChangesReply:
        start = int(request.cursor or 0)
        notices = [n for n in self.notices[start:] if self.may_read(agent, n.pool)][: request.limit]
        return ChangesReply(notices=tuple(notices), cursor=str(len(self.notices)))

    async def pools(self, agent: str, request: Pools) -> PoolsReply:
        return PoolsReply(
            pools=tuple(
                PoolInfo(
                    pool=pool,
                    role="owner",
                    description="A pool.",
                    counts={"episodic": sum(m.pool == pool for m in self._visible(agent))},
                    health=HEALTH,
                )
                for pool in self.readable(agent)
            )
        )

    async def health(self, agent: str, request: Health) -> HealthReply:
        self._check(agent, request.pool)
        memories = [m for m in self._visible(agent) if m.pool == request.pool]
        return HealthReply(
            pool=request.pool, active=len(memories), archived_share=0.0, mean_confidence=None, open_conflicts=0,
            newest=tuple(reversed(memories))[: request.newest],
            tags=tuple(sorted({tag for m in memories for tag in m.tags}))[: request.tags],
            entities=tuple(sorted({entity for m in memories for entity in m.entities}))[: request.entities],
        )  # fmt: skip

    def _visible(self, agent: str) -> list[Memory]:
        return [versions[-1] for versions in self.memories.values() if self.may_read(agent, versions[-1].pool)]

    def _find(self, agent: str, id: str) -> Memory:
        versions = self.memories.get(id)
        if versions is None or not self.may_read(agent, versions[-1].pool):
            raise NotFound("not there, or not for you")
        return versions[-1]

    def _check(self, agent: str, pool: str) -> None:
        if not self.may_read(agent, pool):
            raise NotFound("not there, or not for you")

    async def _tell(self, memory: Memory, change: str, actor: str) -> None:
        notice = msgspec.convert(
            {
                "uri": memory.uri, "pool": memory.pool, "tier": memory.tier, "id": memory.id, "version": memory.version,
                "seq": len(self.notices) + 1, "change": change, "actor": actor, "at": datetime.now(UTC),
            },
            Notice,
        )  # fmt: skip
        self.notices.append(notice)
        if self.told is not None:
            await self.told(notice)


def _trace_id() -> str:
    return trace.format_trace_id(trace.get_current_span().get_span_context().trace_id)
