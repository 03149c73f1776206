"""The one way in: embed, append to the log, wait until it can be found. Everything that writes goes through here.

Indexing is not done here. The log is the truth, and indexers take it from there (design §3).
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from ..bus.log import Log, LogRecord
from ..schemas import EarlierVersion, Embedding, LogEntry, Memory, Quota, TurnBefore, Unavailable
from ..schemas.words import Change
from .index import Index, embedded_text, embedding, recipe, turn_before
from .inference import EmbeddingClient, Priority
from .turns import Turns
from .visibility import Visibility, Watch

logger = logging.getLogger(__name__)

_AWAY_WITHIN_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Draft:
    """A version that is about to be appended. ``expected_seq`` is its predecessor's place in the log, 0 for none.

    A later version hands on its predecessor's ``before``, and its ``embedding`` if that still fits.
    """

    memory: Memory
    change: Change
    actor: str
    expected_seq: int
    reason: str | None = None
    request_digest: str | None = None
    embedding: Embedding | None = None
    before: TurnBefore | None = None
    again: bool = False
    earlier: tuple[EarlierVersion, ...] | None = None

    def entry(self) -> LogEntry:
        """The log entry of this draft."""
        return LogEntry(
            memory=self.memory,
            change=self.change,
            actor=self.actor,
            reason=self.reason,
            embedding=self.embedding,
            request_digest=self.request_digest,
            before=self.before,
            again=self.again,
            earlier=self.earlier,
        )


class WritePath:
    """Appends drafts, in batches. Batching is the caller's offer: the embedder and the log take what they get."""

    def __init__(
        self,
        log: Log,
        embeddings: EmbeddingClient,
        index: Index,
        visibility: Visibility,
        *,
        visible_within_s: float = 10.0,
    ) -> None:
        self._log = log
        self._embeddings = embeddings
        self._index = index
        self._visibility = visibility
        self._visible_within_s = visible_within_s
        self._turns = Turns(index)
        self.without_embedding = asyncio.Event()
        """Set when something went in without an embedding; whoever fills in (`Filling`) clears it."""

    @property
    def turns(self) -> Turns:
        """What it knows of conversations."""
        return self._turns

    async def write(
        self, drafts: Sequence[Draft], *, priority: Priority, wait: bool = True
    ) -> list[Memory | Exception]:
        """Append all drafts; one result each, in order.

        A result is the memory with its ``seq``; or without one if it is safe in the log but did not become visible
        in time (the index is away: it will catch up); or the exception that kept it out, `WrongLastSequence` if the
        memory's log moved on meanwhile.
        """
        drafts = await self._embedded(drafts, priority)
        with ExitStack() as stack:
            watches = [stack.enter_context(self._visibility.watch(draft.memory.id)) for draft in drafts] if wait else []
            results = await self._log.append_many(
                [(draft.entry(), draft.expected_seq) for draft in drafts], waited_for=priority is Priority.STORE
            )
            memories = [
                result if isinstance(result, Exception) else replace(draft.memory, seq=result)
                for draft, result in zip(drafts, results, strict=True)
            ]
            if not wait:
                return memories
            deadline = self._deadline()
            # One after the other, in this task: they are watched already, and one store goes on the moment it is woken.
            return [
                memory if isinstance(memory, Exception) else await self._visible(memory, watch, deadline)
                for memory, watch in zip(memories, watches, strict=True)
            ]

    async def write_one(self, draft: Draft, *, priority: Priority = Priority.STORE, wait: bool = True) -> Memory:
        """Append one draft.

        Raises:
            WrongLastSequence: the memory's log moved on since ``expected_seq`` was read.
            Unavailable, TimedOut: the log did not take it.
        """
        (result,) = await self.write([draft], priority=priority, wait=wait)
        if isinstance(result, Exception):
            raise result
        return result

    async def fill(self, records: Sequence[LogRecord]) -> int:
        """Append these newest versions once more, with their embeddings; how many nobody else changed meanwhile.

        Raises:
            Unavailable, Quota: there is no embedding to be had now; nothing was written.
        """
        drafts = [
            _once_more(record, before=record.entry.before)
            for record in records
            if record.entry.memory.content and not self._has_embedding(record)
        ]
        ready = await self._embedded(drafts, Priority.BULK, or_without=False)
        results = await self._log.append_many([(draft.entry(), draft.expected_seq) for draft in ready])
        return sum(isinstance(result, int) for result in results)

    async def part(self, record: LogRecord, earlier: Sequence[EarlierVersion]) -> None:
        """Append this newest version once more, made without the turn before it.

        The new entry keeps ``earlier``, the versions before whose entries it replaces, and has no embedding where
        inference is away: that is filled in later.

        Raises:
            WrongLastSequence: somebody else wrote meanwhile.
        """
        (draft,) = await self._embedded([_once_more(record, earlier=tuple(earlier))], Priority.BULK)
        await self._log.append(draft.entry(), expected_seq=draft.expected_seq)

    def _has_embedding(self, record: LogRecord) -> bool:
        made = record.entry.embedding
        return made is not None and made.model == self._embeddings.model

    async def ensure_visible(self, memory: Memory) -> Memory:
        """Wait for a memory that somebody else appended, for a caller who repeats that store."""
        with self._visibility.watch(memory.id) as watch:
            if await self._is_indexed(memory):
                return memory
            return await self._visible(memory, watch, self._deadline())

    def _deadline(self) -> float:
        """Until when (loop time) a writer is kept waiting; not long where the index is known to be away."""
        within = self._visible_within_s if self._index.state == "ok" else min(self._visible_within_s, _AWAY_WITHIN_S)
        return asyncio.get_running_loop().time() + within

    async def _visible(self, memory: Memory, watch: Watch, deadline: float) -> Memory:
        """``memory``, once it can be found; without its ``seq`` if it cannot at ``deadline`` (loop time)."""
        assert memory.seq is not None
        if await watch.reached(memory.seq, max(0.0, deadline - asyncio.get_running_loop().time())):
            return memory
        if await self._is_indexed(memory):
            return memory
        logger.warning("memory %s is in the log and not visible in time", memory.id)
        return replace(memory, seq=None)

    async def _is_indexed(self, memory: Memory) -> bool:
        """Whether the index has it; one that is away has nothing, and what is in the log is safe all the same."""
        try:
            indexed = (await self._index.seqs([memory.id])).get(memory.id, 0)
        except Unavailable as e:
            logger.warning("it cannot be seen whether memory %s is visible: %s", memory.id, e)
            return False
        return memory.seq is not None and indexed >= memory.seq

    async def _embedded(self, drafts: Sequence[Draft], priority: Priority, *, or_without: bool = True) -> list[Draft]:
        """The drafts with their embeddings; where inference is away without: such a memory is found by its words.

        So it is where inference is full, but for what comes in bulk, which is to wait.
        """
        ready = list(drafts)
        missing = [i for i, draft in enumerate(drafts) if draft.embedding is None and draft.memory.content]
        if not missing:
            return ready
        before = await self._turns_before([drafts[i] for i in missing])
        for i, turn in zip(missing, before, strict=True):
            if not ready[i].again:
                ready[i] = dataclasses.replace(ready[i], before=_known_of(turn, drafts[i].before))
        texts = [
            embedded_text(drafts[i].memory, turn.content if turn else None)
            for i, turn in zip(missing, before, strict=True)
        ]
        try:
            vectors = await self._embeddings.embed(texts, "passage", priority=priority)
        except (Unavailable, Quota) as e:
            if not or_without or (isinstance(e, Quota) and priority is Priority.BULK):
                raise
            logger.warning("%d memories go in without an embedding: %s", len(missing), e)
            self.without_embedding.set()
            return ready
        for i, vector in zip(missing, vectors, strict=True):
            made = embedding(
                self._embeddings.model, vector, recipe(ready[i].memory, has_before=ready[i].before is not None)
            )
            ready[i] = dataclasses.replace(ready[i], embedding=made)
        return ready

    async def _turns_before(self, drafts: Sequence[Draft]) -> list[Memory | None]:
        """The turn before each: found for a new memory, read again for one that was written before."""
        known = [draft.before.id for draft in drafts if draft.before is not None]
        records = await self._log.latest_many(known) if known else {}
        new = [draft.change == "created" and draft.before is None and not draft.again for draft in drafts]
        found = iter(await self._turns.before([d.memory for d, is_new in zip(drafts, new, strict=True) if is_new]))
        turns: list[Memory | None] = []
        for draft, is_new in zip(drafts, new, strict=True):
            if is_new:
                turns.append(next(found))
                continue
            record = records.get(draft.before.id) if draft.before else None
            turns.append(record.entry.memory if record and record.entry.memory.content else None)
        return turns


def _known_of(turn: Memory | None, before: TurnBefore | None) -> TurnBefore | None:
    """What an entry says of ``turn``; of one that is gone only that it was there: earlier entries may say more."""
    if turn is not None:
        return turn_before(turn)
    return None if before is None else replace(before, terms=b"")


def _once_more(
    record: LogRecord, *, before: TurnBefore | None = None, earlier: tuple[EarlierVersion, ...] | None = None
) -> Draft:
    entry = record.entry
    return Draft(
        memory=entry.memory,
        change=entry.change,
        actor=entry.actor,
        expected_seq=record.seq,
        reason=entry.reason,
        request_digest=entry.request_digest,
        before=before,
        again=True,
        earlier=earlier,
    )
