"""What could not be processed, kept with the reason."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nats.aio.client import Client
from nats.js import JetStreamContext

from . import instrumentation, names
from ._publish import publish_acked
from .connection import client_of, size_of
from .direct import Reader, Stored
from .erasing import Eraser
from .mailbox import Question

_TIME: Final = "Nats-Time-Stamp"
_MOST_HEADERS: Final = 16 * 1024
"""Bytes of the sender's own headers that are kept with a letter; of more, none is."""


@dataclass(frozen=True, slots=True)
class Dead:
    """A dead letter: ``data`` was addressed to ``subject`` with ``headers``, and ``reason`` is why it is here."""

    id: int
    what: str
    subject: str
    reason: str
    at: datetime
    data: bytes
    headers: Mapping[str, str]


class DeadLetters:
    """Buries messages in the stream of dead letters, where an operator finds them."""

    def __init__(self, js: JetStreamContext) -> None:
        self._nc: Client = client_of(js)
        self._reader = Reader(self._nc, names.DEAD)
        self._eraser = Eraser(self._nc)

    async def bury(
        self, what: str, subject: str, data: bytes, reason: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Keep ``data``, which was addressed to ``subject``; ``what`` names the work that failed (``log``, ``ingest``).

        Burying the same again within two minutes changes nothing. What is too large to stand here beside the reason is
        kept as far as there is room: it can be looked at, and will not do if it is tried again.

        Raises:
            Unavailable, TimedOut: it may not be kept; do not let go of the original yet.
        """
        kept = {k: v for k, v in (headers or {}).items() if not k.startswith("Nats-")}
        # A letter that was retried, and failed again, is another one: the first is gone by then.
        retried = kept.pop(names.RETRIED, "")
        parts = (what.encode(), subject.encode(), data, retried.encode())
        token = hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]
        if size_of(kept) > _MOST_HEADERS:
            kept = {}
        kept |= {names.REASON: reason[:1000], names.SUBJECT: subject, names.MESSAGE_ID: token}
        if len(data) > self._nc.max_payload - size_of(kept):
            kept[names.REASON] = f"cut, it had {len(data)} bytes; {reason[:1000]}"
            data = data[: self._nc.max_payload - size_of(kept)]
        await publish_acked(self._nc, [Question(names.dead(what, token), data, kept)])
        instrumentation.BURIED.add(1, {"afterwit.work": what})

    async def page(self, after: int, limit: int) -> list[Dead]:
        """Up to ``limit`` letters whose ids are over ``after``, oldest first."""
        return [_dead(stored) for stored in await self._reader.batch(after, names.DEAD_SUBJECTS, limit=limit)]

    async def get(self, id: int) -> Dead | None:
        """One letter."""
        stored = await self._reader.at(id)
        return _dead(stored) if stored else None

    async def send_again(self, letter: Dead) -> None:
        """Send it to where it was addressed. It stays here: erase it then.

        Raises:
            Unavailable, TimedOut: it may not have arrived.
        """
        headers = {k: v for k, v in letter.headers.items() if k not in {names.REASON, names.SUBJECT}}
        headers[names.RETRIED] = str(letter.id)
        await publish_acked(self._nc, [Question(letter.subject, letter.data, headers)])

    async def erase(self, id: int) -> bool:
        """Erase a letter for good; whether it was there."""
        return bool(await self._eraser.erase(names.DEAD, [id]))


def _dead(stored: Stored) -> Dead:
    headers = {k: v for k, v in stored.headers.items() if not k.startswith("Nats-")}
    return Dead(
        id=stored.seq,
        what=names.parse_dead(stored.subject),
        subject=headers.get(names.SUBJECT, ""),
        reason=headers.get(names.REASON, ""),
        at=datetime.fromisoformat(stored.headers[_TIME]),
        data=stored.data,
        headers=headers,
    )
