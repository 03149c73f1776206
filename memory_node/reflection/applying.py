"""Carrying out what a reflector asked for: each operation is checked, then done by the way that every write takes.

Nothing is done twice: what a job makes has an id that follows from the job, and what it changes carries the job's mark
in its history, so that whoever takes a job over finds what is done. Nothing is done to what changed since it was read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace

from ...bus.jobs import Job
from ...bus.log import Log, LogRecord, WrongLastSequence
from ...schemas import AfterwitError, Evidence, Link, Memory, OperationResult, TimedOut, Unavailable
from ...schemas.reflection import (
    ForgetOperation,
    LinkOperation,
    ReflectOperation,
    StoreOperation,
    UpdateOperation,
)
from ...schemas.uris import memory_uri
from ...schemas.words import MAX_LINKS, Change, Rel, Status
from ..access import Access, private_pool
from ..guard import Guard
from ..ids import derived_id
from ..inference import Priority
from ..links import readable_records
from ..write_path import Draft, WritePath
from .confidence import next_step, weighted_confidence
from .episodes import AUTHOR, labels_of, source_of
from .reflector import MOST_OPERATIONS
from .relations import read_again

_EVIDENCE_RELS: Final[frozenset[Rel]] = frozenset({"derived_from", "supports"})
_UNTOUCHED: Final[frozenset[Status]] = frozenset({"archived", "purged", "quarantined"})


@dataclass(slots=True)
class Task:
    """A job under way: where it writes, who it is, and the sequences of what its reflector knew."""

    job: Job
    pool: str
    reflector: str
    seen: dict[str, int]
    most: int = MOST_OPERATIONS


class Refused(Exception):
    """The operation breaks a rule, which the text names."""


class Skipped(Exception):
    """The operation has nothing to do any more."""


class Applying:
    """Checks and applies. ``after_store`` is told of each memory that was made."""

    def __init__(  # each is another part of the path that a change takes
        self,
        *,
        access: Access,
        guard: Guard,
        log: Log,
        write_path: WritePath,
        clock: Callable[[], datetime],
        after_store: Callable[[Memory], Awaitable[object]] | None = None,
    ) -> None:
        self._access = access
        self._guard = guard
        self._log = log
        self._write_path = write_path
        self._clock = clock
        self._after_store = after_store

    async def apply(self, task: Task, number: int, operation: ReflectOperation) -> OperationResult:
        """Do one operation, the ``number``-th of its job; of a dry run only check it.

        Raises:
            Unavailable, TimedOut: it may be done later, or may have been; doing it again does it once.
        """
        try:
            if number >= task.most:
                raise Refused(f"a job may have {task.most} operations")
            id = await self._apply(task, number, operation)
        except Refused as e:
            return OperationResult(operation=operation, result="refused", reason=str(e))
        except Skipped as e:
            return OperationResult(operation=operation, result="skipped", reason=str(e))
        except (Unavailable, TimedOut):
            raise
        except AfterwitError as e:  # the guard, or what was allowed when the job began and is not any more
            return OperationResult(operation=operation, result="refused", reason=e.message)
        return OperationResult(operation=operation, result="planned" if task.job.dry_run else "applied", id=id)

    async def _apply(self, task: Task, number: int, operation: ReflectOperation) -> str:
        evidence = await self._evidence(task, operation)
        match operation:
            case StoreOperation():
                return await self._store(task, number, operation, evidence)
            case UpdateOperation():
                return await self._update(task, number, operation, evidence)
            case ForgetOperation():
                return await self._forget(task, number, operation, evidence)
            case LinkOperation():
                return await self._link(task, number, operation)

    async def _evidence(self, task: Task, operation: ReflectOperation) -> dict[str, LogRecord]:
        """What the operation cites, as it stands now."""
        cited = list(dict.fromkeys((*operation.evidence, *_contradicting(operation))))
        strangers = [id for id in cited if id not in task.seen]
        if strangers:
            raise Refused(f"it cites {', '.join(strangers[:3])}, which is not among what it was given")
        records = await readable_records(self._log, self._access, task.job.agent, cited)
        gone = [id for id in cited if id not in records or records[id].entry.memory.status in _UNTOUCHED]
        if gone:
            raise Skipped(f"its evidence {', '.join(gone[:3])} is not there any more")
        if task.pool != private_pool(task.job.agent):
            foreign = [id for id in cited if records[id].entry.memory.pool != task.pool]
            if foreign:
                raise Refused(f"its evidence {', '.join(foreign[:3])} is in another pool, whose members are others")
        await self._access.require(task.job.agent, task.pool, "writer")
        return records

    async def _store(self, task: Task, number: int, operation: StoreOperation, evidence: dict[str, LogRecord]) -> str:
        id = (
            derived_id("knowledge", task.pool, operation.key)
            if operation.key
            else derived_id("job", task.job.id, str(number))
        )
        record = await self._log.latest(id, task.pool)
        if record is not None:
            return await self._strengthened(task, number, operation, evidence, record)
        texts, _ = self._guard.inspect(task.job.agent, {"content": operation.content})
        if task.job.dry_run:
            return id
        memory = self._new(task, operation, id, texts["content"], evidence)
        mark = _mark(task, number, operation.because)
        draft = Draft(memory=memory, change="created", actor=AUTHOR, expected_seq=0, reason=mark)
        try:
            stored = await self._write_path.write_one(draft, priority=Priority.BULK)
        except WrongLastSequence:
            record = await self._log.latest(id, task.pool)
            assert record is not None
            return await self._strengthened(task, number, operation, evidence, record)
        if self._after_store is not None:
            await self._after_store(stored)
        return id

    async def _strengthened(
        self,
        task: Task,
        number: int,
        operation: StoreOperation,
        evidence: dict[str, LogRecord],
        record: LogRecord,
    ) -> str:
        """What was to be stored is there: made by this very operation, or by an earlier job under the same key."""
        memory = record.entry.memory
        if memory.status in _UNTOUCHED:
            raise Skipped("it was forgotten")
        if await self._done(task, number, memory):
            return memory.id
        new = [id for id in evidence if id not in {link.target for link in memory.links}]
        if not new:
            raise Skipped("it is known, with the same evidence")
        return await self._changed(
            task, number, record, await self._with_evidence(memory, operation, evidence), "updated", operation.because
        )

    async def _update(self, task: Task, number: int, operation: UpdateOperation, evidence: dict[str, LogRecord]) -> str:
        record = await self._target(task, number, operation.id)
        if record is None:
            return operation.id
        memory = await self._with_evidence(record.entry.memory, operation, evidence)
        change: Change = "updated"
        if operation.content is not None:
            texts, _ = self._guard.inspect(task.job.agent, {"content": operation.content})
            fact = read_again(memory.fact, memory.content, texts["content"])
            memory = replace(memory, content=texts["content"], fact=fact)
        if operation.status is not None and memory.status in ("active", "candidate"):
            memory = replace(memory, status=operation.status)
            if operation.status == "superseded":
                if memory.pinned:
                    raise Refused("what is pinned is not superseded by reflection")
                change, memory = "superseded", replace(memory, valid_to=memory.valid_to or self._clock())
        if replace(memory, updated_at=record.entry.memory.updated_at) == record.entry.memory:
            raise Skipped("it is so already")
        return await self._changed(task, number, record, memory, change, operation.because)

    async def _forget(self, task: Task, number: int, operation: ForgetOperation, evidence: dict[str, LogRecord]) -> str:
        record = await self._target(task, number, operation.id)
        if record is None:
            return operation.id
        if any(found.seq != task.seen[id] for id, found in evidence.items()):
            raise Skipped("what speaks against it was changed meanwhile")
        memory = record.entry.memory
        if memory.pinned or memory.status == "disputed":
            raise Refused("what is pinned or disputed is not forgotten by reflection")
        archived = replace(memory, status="archived")
        return await self._changed(task, number, record, archived, "archived", operation.because)

    async def _link(self, task: Task, number: int, operation: LinkOperation) -> str:
        if operation.source == operation.target:
            raise Refused("a memory cannot be linked to itself")
        record = await self._target(task, number, operation.source)
        if record is None:
            return operation.source
        if operation.target not in task.seen:
            raise Refused(f"it links to {operation.target}, which is not among what it was given")
        targets = await readable_records(self._log, self._access, task.job.agent, [operation.target])
        if operation.target not in targets:
            raise Skipped("what it links to is not there any more")
        if task.pool != private_pool(task.job.agent) and targets[operation.target].entry.memory.pool != task.pool:
            raise Refused("it links to another pool, whose members are others")
        memory = record.entry.memory
        edge = Link(rel=operation.rel, target=operation.target, weight=operation.weight)
        if any((link.rel, link.target) == (edge.rel, edge.target) for link in memory.links):
            raise Skipped("they are linked already")
        if len(memory.links) >= MAX_LINKS:
            raise Refused(f"{memory.id} has {MAX_LINKS} links already")
        linked = replace(memory, links=(*memory.links, edge))
        return await self._changed(task, number, record, linked, "updated", operation.because)

    async def _target(self, task: Task, number: int, id: str) -> LogRecord | None:
        """What is to be changed, if it is as it was when it was read; ``None`` if this operation was done already."""
        if id not in task.seen:
            raise Refused(f"{id} is not among what it was given")
        record = (await readable_records(self._log, self._access, task.job.agent, [id])).get(id)
        if record is None:
            raise Skipped("it is not there any more")
        if record.entry.memory.pool != task.pool:
            raise Refused(f"{id} is in another pool than the one that this job writes to")
        if record.seq != task.seen[id]:
            if await self._done(task, number, record.entry.memory):
                return None
            raise Skipped("it was changed meanwhile")
        if record.entry.memory.status in _UNTOUCHED:
            raise Skipped("it was forgotten")
        return record

    async def _done(self, task: Task, number: int, memory: Memory) -> bool:
        """Whether the history bears this operation's mark: then a worker before this one has done it."""
        mark = _mark(task, number, "")
        for version in await self._log.history(memory.id, memory.pool):
            if (version.entry.reason or "").endswith(mark):
                task.seen[memory.id] = version.seq
                return True
        return False

    async def _changed(
        self, task: Task, number: int, record: LogRecord, memory: Memory, change: Change, because: str
    ) -> str:
        if task.job.dry_run:
            return memory.id
        old = record.entry
        draft = Draft(
            memory=replace(memory, version=old.memory.version + 1, updated_at=self._clock(), seq=None),
            change=change,
            actor=AUTHOR,
            reason=_mark(task, number, because),
            expected_seq=record.seq,
            request_digest=old.request_digest,
            embedding=old.embedding if memory.content == old.memory.content else None,
            before=old.before,
        )
        try:
            written = await self._write_path.write_one(draft, priority=Priority.BULK)
        except WrongLastSequence:
            raise Skipped("it was changed meanwhile") from None
        if written.seq is None:
            latest = await self._log.latest(memory.id, memory.pool)
            task.seen[memory.id] = latest.seq if latest else record.seq
        else:
            task.seen[memory.id] = written.seq
        return memory.id

    def _new(
        self, task: Task, operation: StoreOperation, id: str, content: str, evidence: dict[str, LogRecord]
    ) -> Memory:
        now = self._clock()
        lineage = [record.entry.memory for record in evidence.values()]
        supporting = [evidence[cited].entry.memory for cited in dict.fromkeys(operation.evidence)]
        contradicting = [evidence[cited].entry.memory for cited in dict.fromkeys(operation.contradicting)]
        confidence = weighted_confidence([m.trust for m in supporting], [m.trust for m in contradicting])
        promoted = next_step("candidate", confidence, None, now) == "promote"
        return Memory(
            id=id,
            uri=memory_uri(task.pool, id),
            pool=task.pool,
            tier="episodic" if operation.kind in ("episode", "summary") else "semantic",
            kind=operation.kind,
            content=content,
            data={"reflector": task.reflector, "because": operation.because}
            | ({"key": operation.key} if operation.key else {}),
            entities=operation.entities,
            tags=operation.tags,
            labels=labels_of(lineage),
            task_type=next((memory.task_type for memory in lineage if memory.task_type), None),
            fact=operation.fact,
            author=AUTHOR,
            on_behalf_of=task.job.agent,
            source=source_of(lineage),
            trust=min(memory.trust for memory in lineage),
            confidence=confidence,
            evidence=Evidence(supporting=len(supporting), contradicting=len(contradicting)),
            importance=operation.importance,
            links=_links(supporting, contradicting),
            status="active" if promoted else "candidate",
            occurred_at=max(memory.occurred_at for memory in supporting),
            created_at=now,
            updated_at=now,
            version=1,
        )

    async def _with_evidence(
        self, memory: Memory, operation: StoreOperation | UpdateOperation, evidence: dict[str, LogRecord]
    ) -> Memory:
        """``memory`` with what the operation cites, and the confidence and status that follow from it."""
        cited = {link.target for link in memory.links}
        pro = [evidence[id].entry.memory for id in dict.fromkeys(operation.evidence) if id not in cited | {memory.id}]
        contra = [
            evidence[id].entry.memory for id in dict.fromkeys(operation.contradicting) if id not in cited | {memory.id}
        ]
        if not pro and not contra:
            return memory
        links = (*memory.links, *_links(pro, contra))[:MAX_LINKS]
        counts = Evidence(
            supporting=memory.evidence.supporting + len(pro),
            contradicting=memory.evidence.contradicting + len(contra),
        )
        known = await self._log.latest_many([link.target for link in memory.links])

        def trusts(rels: Iterable[Rel], more: Sequence[Memory]) -> list[float]:
            old = [
                known[link.target].entry.memory.trust
                for link in memory.links
                if link.rel in rels and link.target in known
            ]
            return old + [each.trust for each in more]

        confidence = weighted_confidence(trusts(_EVIDENCE_RELS, pro), trusts(("contradicts",), contra))
        if not contra:  # what somebody is surer of than the rule would be does not suffer by being confirmed
            confidence = max(confidence, memory.confidence)
        drawn = operation.content is not None
        status: Status = memory.status
        match next_step(memory.status, confidence, None, self._clock(), pinned=memory.pinned):
            case "promote":
                status = "active"
            case "demote":
                status = "candidate"
            case _:
                pass
        return replace(
            memory,
            links=links,
            evidence=counts,
            confidence=confidence,
            status=status,
            trust=min((memory.trust, *(each.trust for each in (*pro, *contra)))) if drawn else memory.trust,
            labels=labels_of([memory, *pro, *contra]),
        )


def _contradicting(operation: ReflectOperation) -> tuple[str, ...]:
    return operation.contradicting if isinstance(operation, StoreOperation | UpdateOperation) else ()


def _links(supporting: Sequence[Memory], contradicting: Sequence[Memory]) -> tuple[Link, ...]:
    links: list[Any] = [Link(rel="derived_from", target=memory.id) for memory in supporting]
    links += [Link(rel="contradicts", target=memory.id) for memory in contradicting]
    return tuple(links[:MAX_LINKS])


def _mark(task: Task, number: int, because: str) -> str:
    """The reason in a memory's history; its end tells which operation of which job it was."""
    mark = f"[job {task.job.id}, {number}]"
    return f"{because[:900]} {mark}" if because else mark
