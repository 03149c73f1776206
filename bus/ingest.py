"""The ingest stream: services publish what is to be stored, and go on; workers store it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

import msgspec
from nats.aio.client import Client
from nats.js import JetStreamContext

from ..schemas import AfterwitError, ErrorBody, Store, Unavailable
from ..schemas.beginnings import beginning
from ..schemas.codec import JSON, encode
from . import names
from ._publish import publish_acked
from .connection import client_of
from .direct import Reader, Stored
from .mailbox import NoAnswer, NobodyThere, Question, mailbox_of

_TIMEOUT_S: Final = 10.0
_LONGEST: Final = 1000
"""Characters of an error's text, and of a key, beside which an item is too large to be sent back."""


async def publish(js: JetStreamContext, agent: str, pool: str, request: Store) -> None:
    """Hand ``request`` over: when this returns it is safe, and will be stored or answered with a rejection.

    Raises:
        Unavailable: the stream is away; nothing was handed over.
        TimedOut: it may have been. Repeating it is safe if the request has an idempotency key.
    """
    message = Question(names.ingest(agent, pool), encode(request), {names.CONTENT_TYPE: JSON})
    await publish_acked(client_of(js), [message], timeout_s=_TIMEOUT_S)


async def reject(nc: Client, agent: str, error: AfterwitError | ErrorBody, item: Any) -> None:
    """Tell ``agent`` why ``item`` (what it ingested, as plain values) was refused. Not kept: see `DeadLetters`.

    Of an item that is too large to be sent back its key alone is, if it has one.
    """
    body = error.body if isinstance(error, AfterwitError) else error
    message = encode({"error": body, "item": item})
    if len(message) > nc.max_payload:
        key = item.get("idempotency_key") if isinstance(item, dict) else None
        named = {"idempotency_key": key} if isinstance(key, str) and len(key) <= _LONGEST else None
        body = ErrorBody(code=body.code, message=beginning(body.message, _LONGEST))
        message = encode({"error": body, "item": named})
    await nc.publish(names.rejected(agent), message)


class Waiting:
    """What waits in the stream, seen past the queue. Every method raises `Unavailable` when NATS is away."""

    def __init__(self, nc: Client) -> None:
        self._nc = nc
        self._reader = Reader(nc, names.INGEST)

    async def agents(self) -> dict[str, list[str]]:
        """Whose items wait, or are being stored, and on which subjects."""
        found: dict[str, list[str]] = defaultdict(list)
        for subject in await self._reader.subjects(names.ingest_of_anybody()):
            found[names.parse_ingest(subject)[0]].append(subject)
        return found

    async def oldest(self, subject: str, limit: int) -> list[Stored]:
        """The first items on ``subject``."""
        return await self._reader.batch(0, subject, limit=limit)

    async def remove(self, seq: int) -> None:
        """Take an item out of the queue, as its ack would; nothing if it is gone already."""
        request = msgspec.json.encode({"seq": seq, "no_erase": True})
        try:
            await mailbox_of(self._nc).ask(Question(names.message_delete(names.INGEST), request), timeout_s=_TIMEOUT_S)
        except (NoAnswer, NobodyThere) as e:  # then it comes once more, and is known
            raise Unavailable("the ingest stream does not answer") from e
