"""A key-value bucket as identity needs it: reads that are never cached, writes that are always compare-and-set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from nats.aio.client import Client

from ...schemas import Internal, TimedOut, Unavailable
from .. import names
from .._publish import decode_ack
from ..direct import Reader, Stored
from ..mailbox import NoAnswer, NobodyThere, Question, mailbox_of

_TIMEOUT_S: Final = 5.0
MARKER_KEPT: Final = timedelta(hours=1)
"""A deletion's marker goes by itself: nobody watches, and those that stay would be read with every question."""


class LostRaceError(Exception):
    """Somebody else wrote first: read again and decide again."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands under a key. ``value`` is None where it was deleted."""

    key: str
    value: bytes | None
    revision: int


class Bucket:
    """One bucket of which no value is empty. All methods raise `Unavailable` or `TimedOut` on engine trouble.

    With ``leader`` reads ask the stream's leader alone: needed where a bucket has replicas, which may lag.
    """

    def __init__(self, nc: Client, name: str, *, leader: bool = False) -> None:
        self._nc = nc
        self._stream = names.kv_stream(name)
        self._prefix = names.kv_subject(name, "")
        self._reader = Reader(nc, self._stream, leader=leader, timeout_s=_TIMEOUT_S)

    async def get(self, key: str) -> Entry | None:
        """The entry of ``key``, deleted or not; None if there is none."""
        stored = await self._reader.last(self._prefix + key)
        return None if stored is None else self._entry(stored)

    async def matching(self, pattern: str) -> dict[str, Entry]:
        """The entries of all keys that match, deleted ones too, by key.

        All as of one moment, if they are no more than the server answers at once (1,024). Else they are paged in the
        order of writing: then an entry that changes meanwhile is given as it was or as it became.
        """
        subject = self._prefix + pattern
        try:
            found = await self._reader.last_many([subject])
        except Internal:  # too many at once; if it was something else, this fails as well
            found = [stored async for stored in self._reader.scan(subject=subject)]
        return {entry.key: entry for entry in map(self._entry, found)}

    async def newest(self, pattern: str) -> int:
        """The revision of what was written last under the keys that match; 0 if there are none.

        As long as it stays, nothing that `matching` gave has changed: a deletion is written as well. Who did not look
        for longer than `MARKER_KEPT` cannot tell: the deletion's marker has gone, and what is newest now was so before.
        """
        stored = await self._reader.last(self._prefix + pattern)
        return 0 if stored is None else stored.seq

    async def put(self, key: str, value: bytes, *, expected: int, over: str | None = None) -> None:
        """Write ``key`` if the last revision is still ``expected``.

        That is the last revision of ``key`` (0: no such key), or, with ``over``, of all keys that match that pattern:
        then the write also loses if any other of them was changed.

        Raises:
            LostRaceError: it is not.
        """
        await self._write(key, value, {}, expected, over)

    async def delete(self, key: str, *, expected: int, over: str | None = None) -> None:
        """Delete ``key`` under the same condition as `put`."""
        marker = {"KV-Operation": "DEL", "Nats-TTL": f"{MARKER_KEPT.total_seconds():.0f}s"}
        await self._write(key, b"", marker, expected, over)

    async def _write(self, key: str, value: bytes, headers: Mapping[str, str], expected: int, over: str | None) -> None:
        headers = {**headers, names.EXPECTED_SUBJECT_SEQ: str(expected)}
        if over is not None:
            headers[names.EXPECTED_SUBJECT_SEQ_OVER] = self._prefix + over
        question = Question(self._prefix + key, value, headers)
        try:
            msg = await mailbox_of(self._nc).ask(question, timeout_s=_TIMEOUT_S)
        except NobodyThere as e:
            raise Unavailable(f"NATS holds no {self._stream}: is a memory node running?") from e
        except NoAnswer as e:
            raise TimedOut(f"NATS did not confirm a change of {self._stream}: look whether it was made") from e
        error = decode_ack(msg.data).error
        if error is None:
            return
        if error.lost_race:
            raise LostRaceError
        raise Unavailable(f"NATS refused a change of {self._stream}: {error.description}")

    def _entry(self, stored: Stored) -> Entry:
        return Entry(stored.subject.removeprefix(self._prefix), stored.data or None, stored.seq)
