"""The log: the truth. One subject per memory, one entry per version, appended by compare-and-set."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg

from ..schemas import EarlierVersion, Internal, LogEntry, TimedOut, TooLarge, Unavailable
from ..schemas.codec import MSGPACK
from . import names
from ._publish import Ack, decode_ack
from .connection import wait_connected
from .direct import Reader, Stored
from .mailbox import NoAnswer, NobodyThere, Question, mailbox_of

log = logging.getLogger(__name__)

_RETRY_PAUSE_S: Final = 0.05

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(LogEntry)


class WrongLastSequence(Exception):
    """The memory's newest entry is not the expected one: somebody else was first."""


class UnreadableEntry(Internal):
    """What stands at ``detail["seq"]`` of the log is not an entry."""


@dataclass(frozen=True, slots=True)
class LogRecord:
    """An entry in its place; ``entry.memory.seq`` is ``seq``."""

    entry: LogEntry
    seq: int


@dataclass(slots=True)
class _Append:
    """One append on its way. ``doubtful`` once it may have happened without our knowing."""

    question: Question
    expected_seq: int
    doubtful: bool = False
    result: int | Exception | None = None


class Log:
    """Reads and appends.

    Every method raises `Unavailable` when NATS is away for ``timeout_s``. With ``replicas`` over 1, reads of the newest
    version go to the stream's leader.
    """

    def __init__(self, nc: Client, *, replicas: int = 1, timeout_s: float = 10.0) -> None:
        self._nc = nc
        self._timeout_s = timeout_s
        self._current = Reader(nc, names.LOG, leader=replicas > 1, timeout_s=timeout_s)
        self._any_replica = Reader(nc, names.LOG, timeout_s=timeout_s)

    @property
    def largest(self) -> int:
        """Bytes that a message to or from the server may take, beside its headers."""
        return self._nc.max_payload - names.HEADER_ALLOWANCE

    async def append(self, entry: LogEntry, *, expected_seq: int, waited_for: bool = False) -> int:
        """Append one version and return its sequence.

        ``expected_seq`` is the sequence of the memory's newest entry, 0 if it must not exist yet.

        Raises:
            WrongLastSequence: another entry is the newest.
            TooLarge: over the server's message size.
            Unavailable: NATS is away; nothing was written.
            TimedOut: NATS went away meanwhile, and it cannot be said whether the entry was written.
        """
        (result,) = await self.append_many([(entry, expected_seq)], waited_for=waited_for)
        if isinstance(result, Exception):
            raise result
        return result

    async def append_many(
        self, entries: Sequence[tuple[LogEntry, int]], *, waited_for: bool = False
    ) -> list[int | Exception]:
        """Append many (entry, expected sequence) at once: the sequence, or the exception, for each in order.

        ``waited_for`` tells indexers that somebody waits until these can be found (see `is_waited_for`).
        """
        appends = [self._prepare(entry, expected_seq, waited_for=waited_for) for entry, expected_seq in entries]
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        open_ones = [a for a in appends if a.result is None]
        while open_ones:
            left = deadline - asyncio.get_running_loop().time()
            await self._attempt(open_ones, max(left, 0.0))
            open_ones = [a for a in open_ones if a.result is None]
            if open_ones:
                await asyncio.sleep(_RETRY_PAUSE_S)
        return [a.result for a in appends if a.result is not None]

    async def latest(self, id: str, pool: str | None = None) -> LogRecord | None:
        """The newest version of a memory; without ``pool`` it is looked for in all (ids are unique across pools)."""
        stored = await self._current.last(names.log(pool, id) if pool else names.log_of_any_pool(id))
        return record_of(stored) if stored else None

    async def latest_many(self, ids: Sequence[str], pools: Mapping[str, str] | None = None) -> dict[str, LogRecord]:
        """The newest versions of those of ``ids`` that exist.

        ``pools`` (id → pool) spares the search through all pools, which costs 3 ms an id when there are 10,000 of them;
        an id that is not in the pool given for it is not found.
        """
        known = pools or {}
        found = await self._current.last_many(
            [names.log(known[id], id) if id in known else names.log_of_any_pool(id) for id in dict.fromkeys(ids)]
        )
        records = filter(None, map(_readable, found))
        return {record.entry.memory.id: record for record in records}

    async def at(self, seq: int) -> LogRecord | None:
        """The entry at ``seq``; ``None`` if the log has not come so far, or it was erased."""
        stored = await self._any_replica.at(seq)
        return record_of(stored) if stored else None

    async def last_seq(self) -> int:
        """Where the newest entry of all stands; 0 if there is none."""
        last = await self._current.last(names.LOG_SUBJECTS)
        return last.seq if last else 0

    async def history(self, id: str, pool: str) -> list[LogRecord]:
        """All versions of a memory, oldest first, each once and as it was first written."""
        versions: dict[int, LogRecord] = {}
        for record in await self.entries(id, pool):
            for each in kept_in(record):
                versions.setdefault(each.entry.memory.version, each)
        return [versions[number] for number in sorted(versions)]

    async def entries(self, id: str, pool: str) -> list[LogRecord]:
        """All entries of a memory, oldest first, as they stand."""
        return [record async for record in self._read(0, names.log(pool, id))]

    async def replay(self, from_seq: int = 1) -> AsyncIterator[LogRecord]:
        """All entries from ``from_seq`` to the end, oldest first."""
        async for record in self._read(max(from_seq, 1) - 1, names.LOG_SUBJECTS):
            yield record

    async def newest(self, limit: int) -> list[LogRecord]:
        """About the ``limit`` newest entries of all pools, oldest first."""
        after = max(await self.last_seq() - limit, 0)
        return [record async for record in self._read(after, names.LOG_SUBJECTS)]

    async def page(self, after: int, pool: str, limit: int) -> tuple[list[LogRecord], int]:
        """Up to ``limit`` entries of a pool after ``after``, oldest first, and the sequence to go on from."""
        found = await self._any_replica.batch(after, names.log_of_pool(pool), limit=limit)
        return [record for stored in found if (record := _readable(stored))], found[-1].seq if found else after

    async def _read(self, after: int, subject: str) -> AsyncIterator[LogRecord]:
        """The entries on ``subject``. What is none is the indexer's to bury, and nobody else's trouble."""
        async for stored in self._any_replica.scan(after=after, subject=subject):
            if record := _readable(stored):
                yield record

    def _prepare(self, entry: LogEntry, expected_seq: int, *, waited_for: bool) -> _Append:
        memory = entry.memory
        if memory.seq is not None:  # the sequence is the stream's to tell
            entry = msgspec.structs.replace(entry, memory=msgspec.structs.replace(memory, seq=None))
        data = _encoder.encode(entry)
        headers = {names.CONTENT_TYPE: MSGPACK, names.EXPECTED_SUBJECT_SEQ: str(expected_seq)}
        if waited_for:
            headers[names.WAITED_FOR] = "1"
        append = _Append(Question(names.log(memory.pool, memory.id), data, headers), expected_seq)
        if len(data) > (limit := self.largest):
            append.result = TooLarge(
                f"the memory takes {len(data)} bytes in the log and may take {limit}", field="", limit_bytes=limit
            )
        return append

    async def _attempt(self, appends: Sequence[_Append], left: float) -> None:
        """Send ``appends`` once and settle those whose outcome is known, all of them if no time is left."""
        try:
            if left <= 0:
                raise Unavailable("the log did not answer in time; try again")
            await wait_connected(self._nc, left)
            answers = await mailbox_of(self._nc).ask_each([a.question for a in appends], timeout_s=left)
        except Unavailable as e:
            for append in appends:
                append.result = _given_up(append, e)
            return
        for append, answer in zip(appends, answers, strict=True):
            if isinstance(answer, NoAnswer):
                append.doubtful = True
            elif not isinstance(answer, NobodyThere):
                await self._settle(append, decode_ack(answer.data))

    async def _settle(self, append: _Append, ack: Ack) -> None:
        if ack.error is None:
            append.result = ack.seq
        elif ack.error.lost_race:
            append.result = await self._who_was_first(append) if append.doubtful else WrongLastSequence()
        elif not ack.error.passing:
            append.result = Unavailable(f"the log does not take the entry: {ack.error.description}")
        # else: a server that is starting or electing; the next attempt will tell

    async def _who_was_first(self, append: _Append) -> int | Exception:
        """Whether the entry that came after the expected one is ours, sent by an attempt whose answer was lost."""
        try:
            winner = await self._current.after(append.expected_seq, append.question.subject)
        except Unavailable as e:
            return _given_up(append, e)
        if winner is not None and winner.data == append.question.data:
            return winner.seq
        return WrongLastSequence()


def record_of(message: Stored | Msg) -> LogRecord:
    """The record in a message of the log, as read directly or delivered by a consumer.

    Raises:
        UnreadableEntry: it is not an entry.
    """
    seq = message.seq if isinstance(message, Stored) else message.metadata.sequence.stream
    try:
        entry = _decoder.decode(message.data)
    except msgspec.MsgspecError as e:
        raise UnreadableEntry(f"entry {seq} of the log cannot be read: {e}", seq=seq) from e
    memory = msgspec.structs.replace(entry.memory, seq=seq)
    return LogRecord(msgspec.structs.replace(entry, memory=memory), seq)


def kept_in(record: LogRecord) -> list[LogRecord]:
    """The versions that a record holds, oldest first: its own, and before it those whose entries it replaced."""
    return [*(_kept(version, record) for version in record.entry.earlier or ()), record]


def is_waited_for(message: Msg) -> bool:
    """Whether whoever appended it said that somebody waits for it."""
    return message.headers is not None and names.WAITED_FOR in message.headers


def _kept(version: EarlierVersion, record: LogRecord) -> LogRecord:
    entry = LogEntry(memory=version.memory, change=version.change, actor=version.actor, reason=version.reason)
    return LogRecord(entry, version.memory.seq or record.seq)


def _readable(stored: Stored) -> LogRecord | None:
    try:
        return record_of(stored)
    except UnreadableEntry as e:
        log.warning("passed over: %s", e.message)
        return None


def _given_up(append: _Append, reason: Unavailable) -> Exception:
    if not append.doubtful:
        return reason
    return TimedOut(f"it is not known whether the memory was written: {reason.message}")
