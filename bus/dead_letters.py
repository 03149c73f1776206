"""What could not be processed, kept with the reason."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from nats.aio.client import Client
from nats.js import JetStreamContext

from . import names
from ._publish import publish_acked
from .connection import client_of
from .mailbox import Question


class DeadLetters:
    """Buries messages in the stream of dead letters, where an operator finds them."""

    def __init__(self, js: JetStreamContext) -> None:
        self._nc: Client = client_of(js)

    async def bury(
        self, what: str, subject: str, data: bytes, reason: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Keep ``data``, which was addressed to ``subject``; ``what`` names the work that failed (``log``, ``ingest``).

        Burying the same again within two minutes changes nothing.

        Raises:
            Unavailable, TimedOut: it may not be kept; do not let go of the original yet.
        """
        token = hashlib.sha256(b"\0".join((what.encode(), subject.encode(), data))).hexdigest()[:32]
        kept = {k: v for k, v in (headers or {}).items() if not k.startswith("Nats-")}
        kept |= {names.REASON: reason[:1000], names.SUBJECT: subject, names.MESSAGE_ID: token}
        await publish_acked(self._nc, [Question(names.dead(what, token), data, kept)])
