"""The ingest stream: services publish what is to be stored, and go on; workers store it."""

from __future__ import annotations

from typing import Any, Final

from nats.aio.client import Client
from nats.js import JetStreamContext

from ..schemas import AfterwitError, ErrorBody, Store
from ..schemas.codec import JSON, encode
from . import names
from ._publish import publish_acked
from .connection import client_of
from .mailbox import Question

_TIMEOUT_S: Final = 10.0


async def publish(js: JetStreamContext, agent: str, pool: str, request: Store) -> None:
    """Hand ``request`` over: when this returns it is safe, and will be stored or answered with a rejection.

    Raises:
        Unavailable: the stream is away; nothing was handed over.
        TimedOut: it may have been. Repeating it is safe if the request has an idempotency key.
    """
    message = Question(names.ingest(agent, pool), encode(request), {names.CONTENT_TYPE: JSON})
    await publish_acked(client_of(js), [message], timeout_s=_TIMEOUT_S)


async def reject(nc: Client, agent: str, error: AfterwitError | ErrorBody, item: Any) -> None:
    """Tell ``agent`` why ``item`` (what it ingested, as plain values) was refused. Not kept: see `DeadLetters`."""
    body = error.body if isinstance(error, AfterwitError) else error
    await nc.publish(names.rejected(agent), encode({"error": body, "item": item}))
