"""What a new piece of knowledge does to what is known: contradicts it, replaces it, or says it again.

It is looked for after the write can be found (design §3): of two writers that race, whoever looks last sees the other.
What is found is done at both ends by compare-and-set, and doing it again changes nothing, so that both may find it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ..bus.log import Log, LogRecord, WrongLastSequence
from ..schemas import Conflict, Evidence, Link, Memory, TimedOut, Unavailable
from ..schemas.words import MAX_LINKS, Change, Kind, Rel, Status
from .index import Calibration, Index, IndexFilter, IndexQuery, raw_vector
from .inference import Priority
from .reflection.confidence import confidence
from .reflection.conflicts import TOPIC, Judgement, Pair, Verdict, judge_each
from .reflection.episodes import AUTHOR
from .reflection.relations import relation
from .reflection.thinking import InPlace, Thinking
from .write_path import Draft, WritePath

logger = logging.getLogger(__name__)

KNOWLEDGE: Final[tuple[Kind, ...]] = ("fact", "preference", "procedure")
_COMPARED: Final[tuple[Kind, ...]] = (*KNOWLEDGE, "note")
_PAST: Final[frozenset[Status]] = frozenset({"archived", "superseded", "quarantined", "purged"})
_NEAREST: Final = 6
_FACTS: Final = 64
_TRIES: Final = 8


@dataclass(frozen=True, slots=True)
class _Found:
    """How another memory relates to the one that is looked at; ``newer`` is the one of the two that replaces."""

    other: Memory
    verdict: Verdict
    why: str
    newer: Memory | None = None


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two memories to be judged, ``b`` the newer one; ``other`` is which of them is not the one that is looked at."""

    other: Memory
    a: Memory
    b: Memory
    similarity: float


class Contradicting:
    """Looks for conflicts of one memory within its pool, and does what follows from them.

    ``thinking`` is where they are judged: in place for those who wait, apart for those who do not, who also go last.
    What follows is waited for until it can be found, unless told not to ``wait``: then it is in the log.
    """

    def __init__(  # noqa: PLR0913  # each is another part of what follows from a conflict
        self,
        *,
        log: Log,
        index: Index,
        calibration: Calibration,
        write_path: WritePath,
        clock: Callable[[], datetime],
        thinking: Thinking | None = None,
        wait: bool = True,
    ) -> None:
        self._log = log
        self._index = index
        self._calibration = calibration
        self._write_path = write_path
        self._clock = clock
        self._thinking = thinking or InPlace()
        self._wait = wait
        self._priority = Priority.BULK if thinking else Priority.STORE

    async def settle(self, memory: Memory) -> tuple[Memory, tuple[Conflict, ...]]:
        """``memory`` as it stands afterwards, and its conflicts. Nothing for what is no knowledge, or is not visible.

        With the index away nothing is found now; the pool's review looks again.
        """
        if not is_knowledge(memory) or memory.seq is None:
            return memory, ()
        try:
            conflicts = [await self._resolve(memory, each) for each in await self._find(memory)]
            latest = await self._log.latest(memory.id, memory.pool) if conflicts else None
        except (Unavailable, TimedOut) as e:  # the memory itself is safe, and that is what was asked for
            logger.warning("conflicts of %s are not settled now: %s", memory.id, e)
            return memory, ()
        return (latest.entry.memory if latest else memory), tuple(conflicts)

    async def _find(self, memory: Memory) -> list[_Found]:
        """The memories of the pool that ``memory`` does not merely stand beside."""
        own = await self._log.latest(memory.id, memory.pool)
        if own is None or own.entry.memory.status in _PAST:
            return []
        ids: dict[str, None] = {}
        fact = memory.fact or relation(memory.content)
        if fact is not None:
            same_subject = IndexFilter(pools=(memory.pool,), fact_subject=fact.subject, statuses_hidden=_PAST)
            ids |= dict.fromkeys(each.id for each in await self._index.find(same_subject, limit=_FACTS))
        vector = raw_vector(own.entry.embedding) if own.entry.embedding else None
        near = IndexFilter(pools=(memory.pool,), kinds=_COMPARED, statuses_hidden=_PAST)
        hits = await self._index.search(
            IndexQuery(text=memory.content, vector=vector, filter=near, limit=_NEAREST + 1, depth=2 * _NEAREST)
        )
        ids |= dict.fromkeys(hit.id for hit in hits)
        ids.pop(memory.id, None)
        records = await self._log.latest_many(list(ids), dict.fromkeys(ids, memory.pool))
        pairs = [pair for record in records.values() if (pair := self._pair(own, record)) is not None]
        if not pairs:
            return []
        asked = [Pair(p.a.content, p.b.content, p.similarity, p.a.fact, p.b.fact) for p in pairs]
        judgements = await self._thinking.run(judge_each, asked)
        return [
            _found(pair, judgement)
            for pair, judgement in zip(pairs, judgements, strict=True)
            if judgement.verdict != "compatible"
        ]

    def _pair(self, own: LogRecord, record: LogRecord) -> _Pair | None:
        """The memory at ``own`` beside the one at ``record``, unless it is clear that nothing follows from it."""
        memory, other = own.entry.memory, record.entry.memory
        if other.status in _PAST or not is_knowledge(other) or _are_linked(memory, other):
            return None
        is_newer = (memory.valid_from or memory.occurred_at) >= (other.valid_from or other.occurred_at)
        a, b = (other, memory) if is_newer else (memory, other)
        similarity = self._similarity(own, record)
        if similarity < TOPIC and not ((a.fact or relation(a.content)) and (b.fact or relation(b.content))):
            return None  # they are about different things
        return _Pair(other, a, b, similarity)

    def _similarity(self, own: LogRecord, record: LogRecord) -> float:
        pair = (own.entry, record.entry)
        vectors: list[NDArray[np.float32]] = []
        for entry in pair:
            if entry.embedding is None or entry.embedding.model != self._calibration.model:
                return 0.0
            vectors.append(raw_vector(entry.embedding))
        a, b = self._calibration.apply(np.stack(vectors), [entry.memory.content for entry in pair], "passage")
        return self._calibration.unit(float(a @ b), "passage")

    async def _resolve(self, memory: Memory, found: _Found) -> Conflict:
        other, why = found.other, found.why
        match found.verdict:
            case "duplicate":
                return await self._said_again(memory, other, why)
            case "supersede":
                old, new = (other, memory) if found.newer is not other else (memory, other)
                if not old.pinned and new.trust >= old.trust:
                    await self._supersede(old, new)
                    return Conflict(id=other.id, kind="supersession", action="superseded", why=why)
                why = f"{why}; what it would replace is {'pinned' if old.pinned else 'trusted more'}"
                await self._dispute(memory, other)
                return Conflict(id=other.id, kind="supersession", action="disputed", why=why)
            case _:
                await self._dispute(memory, other)
                return Conflict(id=other.id, kind="contradiction", action="disputed", why=why)

    async def _said_again(self, memory: Memory, other: Memory, why: str) -> Conflict:
        """Evidence for the earlier one, if somebody else or another session says it; else only a repetition."""
        repeated = _origin(memory) == _origin(other)
        if repeated and not memory.pinned:
            await self._change(
                memory,
                lambda old: replace(old, status="archived"),
                "archived",
                f"said already: {other.id}",
                marked=("supports", other.id),
            )
            return Conflict(id=other.id, kind="duplicate", action="merged", why=why)

        def stronger(old: Memory) -> Memory:
            evidence = Evidence(supporting=old.evidence.supporting + 1, contradicting=old.evidence.contradicting)
            return replace(old, evidence=evidence, confidence=max(old.confidence, confidence(evidence)))

        await self._link(memory, "supports", other.id)
        await self._change(other, stronger, "updated", f"said again: {memory.id}", marked=("supports", memory.id))
        return Conflict(id=other.id, kind="duplicate", action="strengthened", why=why)

    async def _supersede(self, old: Memory, new: Memory) -> None:
        ended = new.valid_from or new.occurred_at

        def replaced(memory: Memory) -> Memory:
            return replace(memory, status="superseded", valid_to=memory.valid_to or ended)

        await self._link(new, "supersedes", old.id)
        await self._change(old, replaced, "superseded", f"superseded by {new.id}")

    async def _dispute(self, a: Memory, b: Memory) -> None:
        for one, other in ((a, b), (b, a)):

            def disputed(memory: Memory) -> Memory:
                return replace(memory, status="disputed")

            await self._change(one, disputed, "disputed", f"contradicts {other.id}", marked=("contradicts", other.id))

    async def _link(self, memory: Memory, rel: Rel, target: str) -> None:
        await self._change(memory, lambda old: old, "updated", f"{rel} {target}", marked=(rel, target))

    async def _change(
        self,
        memory: Memory,
        change: Callable[[Memory], Memory],
        name: Change,
        reason: str,
        *,
        marked: tuple[Rel, str] | None = None,
    ) -> None:
        """Change the newest version, which then bears the link ``marked``; nothing if it does so already.

        ``reason`` stays in this memory's history, so it names the other one, and quotes nothing that may be purged.
        """
        for _ in range(_TRIES):
            record = await self._log.latest(memory.id, memory.pool)
            if record is None or record.entry.memory.status in _PAST:
                return
            old = record.entry.memory
            changed = change(old)
            if marked is not None:
                edge = Link(rel=marked[0], target=marked[1])
                if any((link.rel, link.target) == marked for link in old.links):
                    return
                if len(old.links) < MAX_LINKS:
                    changed = replace(changed, links=(*changed.links, edge))
            if changed == old:
                return
            draft = Draft(
                memory=replace(changed, version=old.version + 1, updated_at=self._clock(), seq=None),
                change=name,
                actor=AUTHOR,
                reason=reason,
                expected_seq=record.seq,
                request_digest=record.entry.request_digest,
                embedding=record.entry.embedding,
                before=record.entry.before,
            )
            try:
                await self._write_path.write_one(draft, priority=self._priority, wait=self._wait)
            except WrongLastSequence:
                continue
            return
        raise Unavailable(f"{memory.id} is being changed by many others just now: try again")


def _found(pair: _Pair, judged: Judgement) -> _Found:
    a, b = pair.a, pair.b
    since = b.valid_from
    if judged.verdict == "contradict" and judged.basis == "fact" and since and since > (a.valid_from or a.occurred_at):
        return _Found(pair.other, "supersede", f"{judged.why}; the newer one says since when", b)
    return _Found(pair.other, judged.verdict, judged.why, a if judged.newer == "a" else b)


def is_knowledge(memory: Memory) -> bool:
    """Whether it can be contradicted: knowledge by its kind, or a fact.

    Lessons stand for themselves. A note may say anything, also several things at once (a status board, a list): to
    judge it by its words would mark as disputed what is only beside the point.
    """
    return memory.kind in KNOWLEDGE or memory.fact is not None


def _origin(memory: Memory) -> tuple[str, str | None, str | None]:
    return memory.author, memory.on_behalf_of, memory.session_id


def _are_linked(a: Memory, b: Memory) -> bool:
    """Whether it is settled already how they stand to each other, or one was drawn from the other."""
    settled = {"contradicts", "supersedes", "supports", "derived_from"}
    return any(link.target == b.id and link.rel in settled for link in a.links) or any(
        link.target == a.id and link.rel in settled for link in b.links
    )
