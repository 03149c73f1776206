"""New versions of memories that exist: `update`, `link`, `share`, `forget`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import replace

from ...bus.log import Log, LogRecord, WrongLastSequence
from ...bus.rpc import Caller
from ...schemas import (
    AfterwitError,
    Conflict,
    Forget,
    ForgetReply,
    GuardFinding,
    Invalid,
    Link,
    LinkEnd,
    LinkReply,
    LinkRequest,
    Memory,
    Share,
    ShareReply,
    Stale,
    Unavailable,
    Update,
    UpdateReply,
)
from ...schemas.uris import memory_uri
from ...schemas.words import HIDDEN, MAX_LINKS, Change, Status
from ..access import Access
from ..contradicting import Contradicting
from ..guard import Guard
from ..ids import derived_id
from ..index import RECIPE, Index, IndexFilter
from ..links import cause_weight
from ..reflection.relations import read_again
from ..write_path import Draft, WritePath
from .purging import Purging
from .reading import readable_record
from .selecting import MAX_SELECTED, selected

_TRIES: Final = 16
"""How often a change that names no version is tried anew when others change the same memory."""
_KEPT_ON_RESTORE: Final = frozenset({"id", "uri", "pool", "author", "on_behalf_of", "created_at", "version", "seq"})


class Changing:
    """Makes new versions, each conditional on its predecessor, so that no update is lost."""

    def __init__(  # noqa: PLR0913  # each is another part of the path that a change takes
        self,
        *,
        access: Access,
        guard: Guard,
        log: Log,
        index: Index,
        write_path: WritePath,
        purging: Purging,
        contradicting: Contradicting,
        clock: Callable[[], datetime],
    ) -> None:
        self._access = access
        self._guard = guard
        self._log = log
        self._index = index
        self._write_path = write_path
        self._purging = purging
        self._contradicting = contradicting
        self._clock = clock

    async def update(self, caller: Caller, request: Update) -> UpdateReply:
        """Change fields of the version that the caller read, or bring an earlier version back."""
        for _ in range(_TRIES):
            record = await self._writable(caller.agent, request.id)
            if record.entry.memory.version != request.expected_version:
                raise _stale(record.entry.memory, request.expected_version)
            try:
                return await self._updated(caller, request, record)
            except WrongLastSequence:  # by another update, or by the same version once more (see `LogEntry.again`)
                continue
        raise Unavailable(f"{request.id} is being changed by many others just now: try again")

    async def _updated(self, caller: Caller, request: Update, record: LogRecord) -> UpdateReply:
        old = record.entry.memory
        findings: tuple[GuardFinding, ...] = ()
        reason: str | None = None
        if request.restore_version is not None:
            reason = f"version {request.restore_version} restored"
            changed = _restored(old, await self._version(old, request.restore_version))
        else:
            changes = dict(request.changes)
            if request.content is not None:
                texts, findings = self._guard.inspect(caller.agent, {"content": request.content})
                changes["content"] = texts["content"]
                changes.setdefault("fact", read_again(old.fact, old.content, texts["content"]))
            changed = replace(old, **{field: _utc(value) for field, value in changes.items()})
        memory = await self._write(record, changed, _change_between(old, changed), caller.agent, reason)
        conflicts: tuple[Conflict, ...] = ()
        if (old.content, old.fact, old.kind, old.tier) != (memory.content, memory.fact, memory.kind, memory.tier):
            memory, conflicts = await self._contradicting.settle(memory)
        return UpdateReply(memory=memory, conflicts=conflicts, guard=findings)

    async def link(self, caller: Caller, request: LinkRequest) -> LinkReply:
        """Draw an edge; drawing the same one again sets its weight."""
        if request.source == request.target:
            raise Invalid("target: a memory cannot be linked to itself", field="target")
        target = (await readable_record(self._log, self._access, caller.agent, request.target)).entry.memory

        def linked(memory: Memory) -> Memory | None:
            weight = request.weight
            if weight is None:
                weight = cause_weight(target.kind, memory.kind) if request.rel == "caused_by" else 1.0
            edge = Link(rel=request.rel, target=target.id, weight=weight)
            if edge in memory.links:
                return None
            others = tuple(x for x in memory.links if (x.rel, x.target) != (edge.rel, edge.target))
            if len(others) >= MAX_LINKS:
                raise Invalid(f"source: {memory.id} has {MAX_LINKS} links already", field="source")
            return replace(memory, links=(*others, edge))

        source = await self._change(caller.agent, request.source, linked, "updated")
        return LinkReply(
            source=LinkEnd(id=source.id, version=source.version), target=LinkEnd(id=target.id, version=target.version)
        )

    async def share(self, caller: Caller, request: Share) -> ShareReply:
        """Copy a memory. The same version shared twice is one copy.

        Raises:
            Invalid: the memory is hidden, or its copy is by now: nobody would find what was shared.
        """
        await self._access.require(caller.agent, request.pool, "writer")
        record = await readable_record(self._log, self._access, caller.agent, request.id)
        original = record.entry.memory
        if original.pool == request.pool:
            raise Invalid(f"pool: the memory is in {request.pool} already", field="pool")
        if original.status in HIDDEN:
            raise Invalid(
                f"id: the memory is {original.status}, nobody would find its copy; share another",
                field="id",
            )
        id = derived_id("share", original.id, str(original.version), request.pool)
        now = self._clock()
        copy = replace(
            original,
            id=id,
            uri=memory_uri(request.pool, id),
            pool=request.pool,
            session_id=None,  # the session, and what led to it, belong to the pool that the original is in
            turn=None,
            links=(Link(rel="derived_from", target=original.id),),
            created_at=now,
            updated_at=now,
            version=1,
            seq=None,
        )
        vector = record.entry.embedding
        if vector is not None and vector.recipe != RECIPE:  # it also says what was said before, in the original's pool
            vector = None
        draft = Draft(memory=copy, change="created", actor=caller.agent, expected_seq=0, embedding=vector)
        try:
            return ShareReply(memory=await self._write_path.write_one(draft))
        except WrongLastSequence:
            shared = (await readable_record(self._log, self._access, caller.agent, id, request.pool)).entry.memory
            if shared.status in HIDDEN:
                raise _hidden_copy(shared) from None
            return ShareReply(memory=await self._write_path.ensure_visible(shared))

    async def forget(self, caller: Caller, request: Forget) -> ForgetReply:
        """Archive what is named, or what the filters select; or purge it."""
        ids = list(dict.fromkeys(request.ids))
        if request.where is not None:
            where = request.where
            if not where.pools:  # "all" means all that one may forget in
                where = replace(where, pools=await self._access.writable(caller.agent))
            ids = await selected(self._index, self._access, caller.agent, where, self._clock())
        if request.purge:
            await self._purging.check(caller.agent, ids)
        else:
            for id in ids:  # all or nothing as far as permission goes: nobody wants half of a list refused
                await self._writable(caller.agent, id)
        hidden: frozenset[Status] = frozenset() if request.purge else frozenset({"archived"})
        remaining = await self._derived(caller.agent, ids, hidden)
        if request.cascade:  # as far as the caller may: a copy in a pool that it only reads stays, and is named
            writable = await self._access.writable(caller.agent)
            ids += [memory.id for memory in remaining if memory.pool in writable]
            remaining = [memory for memory in remaining if memory.pool not in writable]
        if request.purge:
            forgotten = await self._purging.purge(caller.agent, ids, request.reason)
        else:
            forgotten = [id for id in ids if await self._archive(caller.agent, id, request.reason)]
        return ForgetReply(count=len(forgotten), ids=tuple(forgotten), remaining=tuple(m.id for m in remaining))

    async def _archive(self, agent: str, id: str, reason: str) -> bool:
        archived = False

        def change(memory: Memory) -> Memory | None:
            nonlocal archived
            archived = memory.status not in ("archived", "purged")
            return replace(memory, status="archived") if archived else None

        await self._change(agent, id, change, "archived", reason)
        return archived

    async def _derived(self, agent: str, ids: Iterable[str], hidden: frozenset[Status]) -> list[Memory]:
        """What was copied or derived from ``ids``, at any remove, as far as ``agent`` may see it."""
        known = set(ids)
        found: list[Memory] = []
        frontier = list(known)
        pools = await self._access.readable(agent)
        while frontier:
            derived = IndexFilter(pools=pools, derived_from=tuple(frontier), statuses_hidden=hidden)
            new = [memory for memory in await self._index.find(derived, limit=MAX_SELECTED) if memory.id not in known]
            frontier = [memory.id for memory in new]
            known.update(frontier)
            found += new
        return found

    async def _change(
        self, agent: str, id: str, change: Callable[[Memory], Memory | None], name: Change, reason: str | None = None
    ) -> Memory:
        """Apply ``change`` to whatever version is the latest; ``None`` means that nothing is to be done."""
        for _ in range(_TRIES):
            record = await self._writable(agent, id)
            changed = change(record.entry.memory)
            if changed is None:
                return record.entry.memory
            try:
                return await self._write(record, changed, name, agent, reason)
            except WrongLastSequence:
                continue
        raise Unavailable(f"{id} is being changed by many others just now: try again")

    async def _write(
        self, record: LogRecord, changed: Memory, change: Change, agent: str, reason: str | None = None
    ) -> Memory:
        old = record.entry
        memory = replace(changed, version=old.memory.version + 1, updated_at=self._clock(), seq=None)
        return await self._write_path.write_one(
            Draft(
                memory=memory,
                change=change,
                actor=agent,
                reason=reason,
                expected_seq=record.seq,
                request_digest=old.request_digest,
                embedding=old.embedding if memory.content == old.memory.content else None,
                before=old.before,
            )
        )

    async def _writable(self, agent: str, id: str) -> LogRecord:
        record = await readable_record(self._log, self._access, agent, id)
        await self._access.require(agent, record.entry.memory.pool, "writer")
        if record.entry.memory.status == "purged":
            raise Invalid(f"id: {id} was purged and cannot be changed", field="id")
        return record

    async def _version(self, memory: Memory, version: int) -> Memory:
        for record in await self._log.history(memory.id, memory.pool):
            if record.entry.memory.version == version:
                return record.entry.memory
        raise Invalid(f"restore_version: {memory.id} has versions 1 to {memory.version}", field="restore_version")


def _restored(now: Memory, then: Memory) -> Memory:
    fields = {f: getattr(then, f) for f in Memory.__struct_fields__ if f not in _KEPT_ON_RESTORE}
    return replace(now, **fields)


def _change_between(old: Memory, new: Memory) -> Change:
    if old.status != new.status and "archived" in (old.status, new.status):
        return "archived" if new.status == "archived" else "restored"
    return "updated"


def _stale(current: Memory, expected: int) -> AfterwitError:
    return Stale(
        f"{current.id} is at version {current.version}, not {expected}: read it, decide anew, and update that version",
        id=current.id,
        current_version=current.version,
    )


def _hidden_copy(copy: Memory) -> Invalid:
    back = "" if copy.status == "purged" else "bring it back (update with restore_version), or "
    return Invalid(
        f"id: this version was shared before, and its copy {copy.id} is {copy.status}: "
        f"{back}change the memory and share its new version",
        field="id",
        copy=copy.id,
    )


def _utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value
