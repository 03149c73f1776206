"""Usage records: what each retrieval brought, and what became of it. Kept for 30 days, one subject per retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.errors import APIError, NotFoundError

from ..schemas import Invalid, NotFound, Unavailable, UsedItem, codec
from . import names
from ._publish import WRONG_LAST_SEQUENCE
from .usefulness import Counts, Usefulness

_ATTEMPTS: Final = 32


class UsageRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One retrieval, by its agent, with the ids it brought (best first) and, once there is any, the feedback.

    ``why``, ``signals`` and ``scores`` go with ``ids``; ``stages`` are milliseconds. It does not hold what was asked: a
    question may quote a memory that is purged later, or was purged before.
    """

    retrieval_id: str
    agent: str
    profile: str
    ids: tuple[str, ...]
    scores: tuple[float, ...]
    took_ms: float
    at: datetime
    feedback: tuple[UsedItem, ...] = ()
    why: tuple[str, ...] = ()
    signals: tuple[dict[str, float], ...] = ()
    stages: dict[str, float] = {}
    candidates: int = 0
    no_answer: bool = False
    degraded: tuple[str, ...] = ()


class UsageLog:
    """Writes and reads usage records. The stream keeps every version of one; the latest has all feedback."""

    def __init__(self, nc: Client, js: JetStreamContext, learnt: Usefulness) -> None:
        self._nc = nc
        self._js = js
        self._learnt = learnt

    def usefulness(self, id: str) -> float:
        """How useful the memory ``id`` has been where it was retrieved, 0…1; 0.5 if nobody said anything."""
        return self._learnt.of(id)

    async def record(self, record: UsageRecord) -> None:
        """Keep ``record``. Nobody waits for the stream: a retrieval is not held up by its record."""
        subject = names.usage(record.agent, record.retrieval_id)
        await self._nc.publish(
            subject, codec.encode(record, codec.MSGPACK), headers={names.CONTENT_TYPE: codec.MSGPACK}
        )

    async def get(self, agent: str, retrieval_id: str) -> UsageRecord:
        """The record of one of ``agent``'s retrievals.

        Raises:
            NotFound: it is not, or no longer, kept.
            Unavailable: the stream cannot be read now.
        """
        return (await self._latest(agent, retrieval_id))[0]

    async def feedback(self, agent: str, retrieval_id: str, used: Sequence[UsedItem]) -> int:
        """Add to the feedback of a retrieval; what was said last about a memory counts. Answers how many were added.

        The memories' usefulness learns of it.

        Raises:
            Invalid: a memory was not among the retrieved ones.
            NotFound: there is no record of that retrieval.
            Unavailable: the stream does not take it now.
        """
        for _ in range(_ATTEMPTS):
            record, seq = await self._latest(agent, retrieval_id)
            if await self._replace(_with_feedback(record, used), seq):
                await self._learnt.count(_changes(record.feedback, used))
                return len(used)
        raise Unavailable(f"too many give feedback on {retrieval_id} at once; try again")

    async def _latest(self, agent: str, retrieval_id: str) -> tuple[UsageRecord, int]:
        """The record as it is now, and its place in the stream."""
        try:
            message = await self._js.get_last_msg(names.USAGE, names.usage(agent, retrieval_id), direct=True)
        except (NotFoundError, ValueError) as e:
            raise NotFound(f"there is no retrieval {retrieval_id!r} of yours", retrieval_id=retrieval_id) from e
        except (APIError, NatsError) as e:
            raise Unavailable(f"the usage records cannot be read now: {e}") from e
        assert message.data is not None
        assert message.seq is not None
        return codec.decode(message.data, UsageRecord, codec.MSGPACK), message.seq

    async def _replace(self, record: UsageRecord, seq: int) -> bool:
        """Whether ``record`` was written: it is not if the one at ``seq`` is no longer the latest."""
        headers = {names.CONTENT_TYPE: codec.MSGPACK, names.EXPECTED_SUBJECT_SEQ: str(seq)}
        subject = names.usage(record.agent, record.retrieval_id)
        try:
            await self._js.publish(subject, codec.encode(record, codec.MSGPACK), headers=headers)
        except APIError as e:
            if e.err_code in WRONG_LAST_SEQUENCE:
                return False
            raise Unavailable(f"the feedback could not be kept: {e}") from e
        except NatsError as e:
            raise Unavailable(f"the feedback could not be kept: {e}") from e
        return True


def _with_feedback(record: UsageRecord, used: Sequence[UsedItem]) -> UsageRecord:
    strangers = [item.id for item in used if item.id not in record.ids]
    if strangers:
        raise Invalid(f"used: {', '.join(strangers)} was not in that retrieval's answer", field="used", ids=strangers)
    latest = {item.id: item for item in (*record.feedback, *used)}
    return msgspec.structs.replace(record, feedback=tuple(latest.values()))


def _changes(before: Sequence[UsedItem], used: Sequence[UsedItem]) -> dict[str, Counts]:
    """What feedback changes: the last word about a memory counts, so the one before is taken back."""
    known = {item.id: item.effect for item in before}
    changes = {}
    for item in {item.id: item for item in used}.values():
        helped = (item.effect == "helped") - (known.get(item.id) == "helped")
        misled = (item.effect == "misled") - (known.get(item.id) == "misled")
        if helped or misled:
            changes[item.id] = Counts(helped, misled)
    return changes
