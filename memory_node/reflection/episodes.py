"""One episode for each session, in its newest telling; of long sessions by way of the summaries of its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace

from ...bus.log import Log, WrongLastSequence
from ...schemas import Link, Memory, Unavailable
from ...schemas.reflection import Outcome
from ...schemas.uris import memory_uri
from ...schemas.words import MAX_LINKS, TRUST_OF_SOURCE, Source
from ..guard import Guard
from ..ids import derived_id
from ..index import Index, IndexFilter
from ..inference import Priority
from ..write_path import Draft, WritePath
from .compression import Compressed, compress
from .gathering import Gathering
from .telling import EpisodeDraft, tell
from .thinking import Thinking

AUTHOR: Final = "reflection"
PART: Final = 200
"""Events of one part of a long session."""
_PART_TOKENS: Final = 3000
"""Room for a sentence of each; what does not fit even so stands in the events, which the part is linked to."""
_KNOWN_NAMES: Final = 300
_TRIES: Final = 8


class Episodes:
    """Tells sessions, and keeps what it told."""

    def __init__(  # noqa: PLR0913  # each is another part of the path from a session to its episode
        self,
        *,
        gathering: Gathering,
        index: Index,
        thinking: Thinking,
        guard: Guard,
        log: Log,
        write_path: WritePath,
        clock: Callable[[], datetime],
    ) -> None:
        self._gathering = gathering
        self._index = index
        self._thinking = thinking
        self._guard = guard
        self._log = log
        self._write_path = write_path
        self._clock = clock

    async def tell(
        self,
        agent: str,
        session_id: str,
        outcome: Outcome | None = None,
        user_feedback: str | None = None,
        *,
        priority: Priority = Priority.STORE,
    ) -> tuple[Memory, Sequence[Memory]]:
        """The episode of the session as it stands now, and its events. Told again, it is a new version of the same one.

        That of a long session is drawn from parts, which are told by `tell_parts`: they may take longer than a caller
        waits.

        Raises:
            NotFound: there is no such session.
        """
        events = await self._gathering.events(agent, session_id)
        pool = await self._gathering.pool_of(agent, events)
        told = _told(events)
        names = await self._index.facet("entities", IndexFilter(pools=(pool,)), _KNOWN_NAMES)
        known = tuple(name for name, _ in names)
        draft = await self._thinking.run(tell, told, known, told_outcome=outcome, told_feedback=user_feedback)
        id = derived_id("episode", agent, pool, session_id)
        sources = tuple(part.id for part in _parts(id, told)) or tuple(draft.derived_from)
        base = self._memory(agent, id, pool, told)
        given = zip(_MAY_BE_STATED, (outcome, user_feedback), strict=True)
        stated = [name for name, value in given if value is not None]
        memory = replace(base, **self._fields(agent, draft, sources, stated))
        return await self._keep(memory, priority=priority), events

    async def is_told(self, agent: str, session_id: str, events: Sequence[Memory]) -> bool:
        """Whether the episode holds all of ``events`` already."""
        pool = await self._gathering.pool_of(agent, events)
        record = await self._log.latest(derived_id("episode", agent, pool, session_id), pool)
        if record is None:
            return False
        episode = record.entry.memory
        held = episode.data.get(_EVENTS) if isinstance(episode.data, dict) else None
        # By time alone, what was stored while it was being told would pass for told.
        return held in (None, len(_told(events))) and episode.updated_at >= max(event.created_at for event in events)

    async def tell_parts(self, agent: str, session_id: str, events: Sequence[Memory], *, priority: Priority) -> int:
        """Tell the parts of a long session that are not told as they stand; how many that were.

        Each is a summary, linked to its events: a memory has room for 256 links.
        """
        pool = await self._gathering.pool_of(agent, events)
        parts = _parts(derived_id("episode", agent, pool, session_id), _told(events))
        there = await self._log.latest_many([part.id for part in parts], {part.id: pool for part in parts})
        told = 0
        for part in parts:
            record = there.get(part.id)
            if record is not None and part.is_told_by(record.entry.memory):
                continue
            pressed: Compressed = await self._thinking.run(compress, part.events, _PART_TOKENS)
            memory = self._memory(agent, part.id, pool, part.events)
            texts, _ = self._guard.inspect(agent, {"content": pressed.text or part.events[0].content})
            links = tuple(Link(rel="derived_from", target=event.id) for event in part.events)
            await self._keep(replace(memory, content=texts["content"], links=links), priority=priority)
            told += 1
        return told

    def _fields(self, agent: str, draft: EpisodeDraft, sources: Sequence[str], stated: Sequence[str]) -> dict[str, Any]:
        texts, _ = self._guard.inspect(agent, {"content": draft.content})
        return {
            "content": texts["content"],
            "kind": "episode",
            "data": draft.data | {_EVENTS: len(draft.derived_from)} | ({_STATED: list(stated)} if stated else {}),
            "entities": draft.entities,
            "importance": draft.importance,
            "links": tuple(Link(rel="derived_from", target=source) for source in sources),
        }

    def _memory(self, agent: str, id: str, pool: str, events: Sequence[Memory]) -> Memory:
        """What an episode, or a part of one, owes to its events."""
        now = self._clock()
        return Memory(
            id=id,
            uri=memory_uri(pool, id),
            pool=pool,
            tier="episodic",
            kind="summary",
            content=".",
            session_id=events[0].session_id,
            labels=labels_of(events),
            task_type=next((event.task_type for event in events if event.task_type), None),
            author=AUTHOR,
            on_behalf_of=agent,
            source=source_of(events),
            trust=min(event.trust for event in events),
            confidence=min(event.trust for event in events),
            importance=0.5,
            occurred_at=max(event.occurred_at for event in events),
            created_at=now,
            updated_at=now,
            version=1,
        )

    async def _keep(self, memory: Memory, *, priority: Priority) -> Memory:
        """Append it, or a new version of it; nothing if it stands there already, or was forgotten."""
        for _ in range(_TRIES):
            record = await self._log.latest(memory.id, memory.pool)
            if record is None:
                draft = Draft(memory=memory, change="created", actor=AUTHOR, expected_seq=0, reason="told")
            else:
                old = record.entry.memory
                told = replace(memory, data=_with_stated(memory.data, old.data))
                changed = replace(
                    old,
                    **{name: getattr(told, name) for name in _RETOLD},
                    trust=min(old.trust, memory.trust),
                )
                if old.status in ("purged", "archived") or changed == old:
                    return old
                changed = replace(changed, version=old.version + 1, updated_at=self._clock(), seq=None)
                draft = Draft(
                    memory=changed,
                    change="updated",
                    actor=AUTHOR,
                    expected_seq=record.seq,
                    reason="told again",
                    request_digest=record.entry.request_digest,
                    embedding=record.entry.embedding if changed.content == old.content else None,
                    before=record.entry.before,
                )
            try:
                return await self._write_path.write_one(draft, priority=priority)
            except WrongLastSequence:
                continue
        raise Unavailable(f"{memory.id} is being changed by many others just now: try again")


@dataclass(frozen=True, slots=True)
class _Part:
    """A run of a long session's events, and the id of its summary."""

    id: str
    events: Sequence[Memory]

    def is_told_by(self, summary: Memory) -> bool:
        """Whether ``summary`` holds these events as they stand."""
        held = {link.target for link in summary.links if link.rel == "derived_from"}
        return held == {event.id for event in self.events} and summary.updated_at >= max(
            event.updated_at for event in self.events
        )


def _parts(episode: str, events: Sequence[Memory]) -> list[_Part]:
    """The parts of a session that has more events than one memory has room for links; none of any other."""
    if len(events) <= MAX_LINKS:
        return []
    starts = range(0, min(len(events), PART * MAX_LINKS), PART)
    return [_Part(derived_id("part", episode, str(start)), events[start : start + PART]) for start in starts]


def _told(events: Sequence[Memory]) -> list[Memory]:
    """What there is to tell of: an episode that the agent has stored itself, only if there is nothing else."""
    return [event for event in events if event.kind != "episode"] or list(events)


_RETOLD: Final = ("content", "data", "entities", "importance", "links", "labels", "occurred_at", "task_type")


_EVENTS: Final = "events"
"""In an episode's data: how many events it was told from."""
_STATED: Final = "stated"
"""In an episode's data: which of its fields somebody told, so that another telling does not guess them."""
_MAY_BE_STATED: Final = ("outcome", "user_feedback")


def _with_stated(new: Any, old: Any) -> Any:
    """The data ``new``, with what was stated in ``old`` and is not stated otherwise now."""
    if not isinstance(new, dict) or not isinstance(old, dict):
        return new
    stated = old.get(_STATED)  # whoever may write to the pool may have changed it
    kept = [name for name in _MAY_BE_STATED if isinstance(stated, list | tuple) and name in stated]
    kept = [name for name in kept if name not in new.get(_STATED, ())]
    if not kept:
        return new
    return new | {name: old.get(name) for name in kept} | {_STATED: [*new.get(_STATED, ()), *kept]}


def labels_of(memories: Sequence[Memory]) -> tuple[str, ...]:
    """What needs clearance in any of ``memories`` needs it in what is drawn from them."""
    return tuple(dict.fromkeys(label for memory in memories for label in memory.labels))[:64]


def source_of(memories: Sequence[Memory]) -> Source:
    """The least trusted of the sources."""
    return min((memory.source for memory in memories), key=lambda source: TRUST_OF_SOURCE[source])
