"""Telling of changes: each version's notice, in order and once, whichever nodes tell of it and however often.

Several nodes index versions of one memory at the same time, and one may be slow. So who publishes a notice says which
one was there before (compare-and-set over all the memory's notices): when another node was faster, it looks again. Who
finds that notices of earlier versions are missing publishes them as well. They are not early: the later version, which
this node has just made visible, can be read.

Of a new memory nothing needs to be read: its first notice expects none before it. What is told is passed on to
listeners by the stream itself, once it is kept (`afterwit.bus.streams`), so that a refused attempt is heard by nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol, TypeAlias

import msgspec
from nats.aio.client import Client

from ..schemas import LogEntry, Notice, TimedOut, Unavailable
from . import names
from ._publish import decode_ack
from .direct import Reader
from .log import LogRecord
from .mailbox import NoAnswer, NobodyThere, Question, mailbox_of
from .notices import KEPT, notice_of

_RETRY_PAUSE_S: Final = 0.05
_WITHIN_S: Final = 10.0

_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(Notice)


class Refused:
    """An attempt's outcome: another notice of the memory is the newest, or it is not known what became of ours."""


REFUSED: Final = Refused()
Outcome: TypeAlias = int | Refused | Unavailable
"""Of one attempt: the notice's sequence, or why it has none."""


@dataclass(frozen=True, slots=True)
class Last:
    """The newest notice that is kept of a memory: where it stands, and of which version it is."""

    seq: int = 0
    version: int = 0


class NoticeStream(Protocol):
    """The stream of notices, as far as telling needs it."""

    async def last(self, memories: Sequence[Notice], *, surely: bool) -> dict[str, Last]:
        """The newest notice of each memory (by id); those without one are left out. ``surely``: not a lagging one."""
        ...

    async def attempt(self, notices: Sequence[tuple[Notice, int]], timeout_s: float) -> list[Outcome]:
        """Publish each notice if the newest one of its memory is at that sequence (0: there is none)."""
        ...


class History(Protocol):
    """The log, as far as telling needs it."""

    async def history(self, id: str, pool: str) -> list[LogRecord]:
        """All versions of a memory, oldest first."""
        ...


class Announcer:
    """Tells of versions; for one node, or for a part of it."""

    def __init__(
        self,
        stream: NoticeStream,
        log: History,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        within_s: float = _WITHIN_S,
    ) -> None:
        self._stream = stream
        self._log = log
        self._now = now
        self._within_s = within_s

    @classmethod
    def on(cls, nc: Client, log: History, *, replicas: int = 1) -> Announcer:
        """On the stream of a connection; with ``replicas`` over 1, second looks go to its leader."""
        return cls(_Stream(nc, leader=replicas > 1), log)

    async def announce(self, entries: Iterable[LogEntry]) -> None:
        """Return when these versions and all before them have their notices. The versions must be visible.

        Repeating it publishes nothing twice.

        Raises:
            Unavailable, TimedOut: some may not have theirs yet; repeat it.
        """
        stories = _stories(entries)
        deadline = asyncio.get_running_loop().time() + self._within_s
        await self._look([story for story in stories if story.begins_late], surely=False)
        tried = False
        while pending := [story for story in stories if not story.told]:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                raise (TimedOut if tried else Unavailable)("notices could not be published in time; try again")
            for story in pending:
                if story.has_gap:
                    story.complete(await self._log.history(story.id, story.pool), self._now() - KEPT)
            steps = [(story, notice) for story in pending if (notice := story.next()) is not None]
            outcomes = await self._stream.attempt([(notice, story.last.seq) for story, notice in steps], left)
            tried = True
            refused = []
            for (story, notice), outcome in zip(steps, outcomes, strict=True):
                if isinstance(outcome, int):
                    story.last = Last(outcome, notice.version)
                elif isinstance(outcome, Refused):
                    refused.append(story)
                else:
                    raise outcome
            if len(refused) == len(steps):
                await asyncio.sleep(_RETRY_PAUSE_S)
            await self._look(refused, surely=True)

    async def _look(self, stories: Sequence[_Story], *, surely: bool) -> None:
        if stories:
            found = await self._stream.last([story.any for story in stories], surely=surely)
            for story in stories:
                story.last = found.get(story.id, Last())


class _Story:
    """What is to be told of one memory."""

    def __init__(self, notices: Sequence[Notice]) -> None:
        self._asked = {notice.version for notice in notices}
        self._known = {notice.version: notice for notice in notices}
        self._complete = False
        self.any = notices[0]
        self.last = Last()

    @property
    def id(self) -> str:
        return self.any.id

    @property
    def pool(self) -> str:
        return self.any.pool

    @property
    def begins_late(self) -> bool:
        """Whether there may be notices already."""
        return min(self._asked) > 1

    @property
    def told(self) -> bool:
        return self.last.version >= max(self._asked)

    @property
    def has_gap(self) -> bool:
        """Whether versions between the last that was told and the next that we know are to be looked up."""
        notice = self.next()
        return not self._complete and notice is not None and notice.version > self.last.version + 1

    def next(self) -> Notice | None:
        ahead = [version for version in self._known if version > self.last.version]
        return self._known[min(ahead)] if ahead else None

    def complete(self, history: Iterable[LogRecord], kept_since: datetime) -> None:
        """Learn of the versions before ours; without any notice kept, of those whose notices would still be.

        A tombstone is told of by who has erased what it stands for.
        """
        self._complete = True
        for record in history:
            memory = record.entry.memory
            due = self.last.seq > 0 or memory.updated_at >= kept_since
            if due and memory.status != "purged" and memory.version < max(self._asked):
                self._known.setdefault(memory.version, notice_of(record.entry))


def _stories(entries: Iterable[LogEntry]) -> list[_Story]:
    by_id: dict[str, list[Notice]] = {}
    for entry in entries:
        by_id.setdefault(entry.memory.id, []).append(notice_of(entry))
    return [_Story(notices) for notices in by_id.values()]


class _Stream:
    """See `NoticeStream`."""

    def __init__(self, nc: Client, *, leader: bool) -> None:
        self._nc = nc
        self._any_replica = Reader(nc, names.CHANGES)
        self._leader = Reader(nc, names.CHANGES, leader=leader)

    async def last(self, memories: Sequence[Notice], *, surely: bool) -> dict[str, Last]:
        reader = self._leader if surely else self._any_replica
        found = await reader.last_many([names.changed_in_any_tier(m.pool, m.id) for m in memories])
        notices = ((stored.seq, _decoder.decode(stored.data)) for stored in found)  # by sequence: the newest tier last
        return {notice.id: Last(seq, notice.version) for seq, notice in notices}

    async def attempt(self, notices: Sequence[tuple[Notice, int]], timeout_s: float) -> list[Outcome]:
        answers = await mailbox_of(self._nc).ask_each(
            [_question(notice, expected_seq) for notice, expected_seq in notices], timeout_s=timeout_s
        )
        return [REFUSED if isinstance(answer, NoAnswer | NobodyThere) else _outcome(answer.data) for answer in answers]


def _question(notice: Notice, expected_seq: int) -> Question:
    headers = {
        names.EXPECTED_SUBJECT_SEQ: str(expected_seq),
        names.EXPECTED_SUBJECT_SEQ_OVER: names.changed_in_any_tier(notice.pool, notice.id),
    }
    return Question(names.notice(notice.pool, notice.tier, notice.id), _encoder.encode(notice), headers)


def _outcome(ack: bytes) -> Outcome:
    answer = decode_ack(ack)
    if answer.error is None:
        return answer.seq
    if answer.error.lost_race or answer.error.passing:
        return REFUSED
    return Unavailable(f"the stream does not take the notice: {answer.error.description}")
