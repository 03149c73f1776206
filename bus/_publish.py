"""Publishing to a stream, many messages at once, each acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec
from nats.aio.client import Client

from ..schemas import TimedOut, Unavailable
from .mailbox import NoAnswer, NobodyThere, Question, mailbox_of

_RETRY_PAUSE_S: Final = 0.05
_FULL: Final = frozenset({10002, 10023, 10028, 10047, 10077})
"""NATS's codes for an account, memory or storage that is used up, a stream at its limits, a disk that takes no more."""
WRONG_LAST_SEQUENCE: Final = frozenset({10071, 10164})
"""NATS's codes for a message that expects another one to be the last of its subject: somebody else was first."""


class AckError(msgspec.Struct):
    """Why a stream refused a message."""

    code: int
    err_code: int = 0
    description: str = ""

    @property
    def passing(self) -> bool:
        """A server that is starting or electing says 500 or 503; trying again helps. Not where it is full."""
        return self.code >= 500 and self.err_code not in _FULL

    @property
    def lost_race(self) -> bool:
        """What it was to follow is not the last any more; nothing was written."""
        return self.err_code in WRONG_LAST_SEQUENCE


class Ack(msgspec.Struct):
    """A stream's answer to a message."""

    seq: int = 0
    error: AckError | None = None


_decoder: Final = msgspec.json.Decoder(Ack)


def decode_ack(data: bytes) -> Ack:
    """The stream's answer in ``data``."""
    return _decoder.decode(data)


async def publish_acked(nc: Client, messages: Sequence[Question], *, timeout_s: float = 10.0) -> None:
    """Publish ``messages`` in order and return when the stream has each of them.

    A message whose ack was lost is sent again, so it may be there twice.

    Raises:
        Unavailable: the stream is away or refuses; none of the messages without an ack is there.
        TimedOut: some may be there and some not.
    """
    deadline = asyncio.get_running_loop().time() + timeout_s
    left_over: Sequence[Question] = messages
    doubtful = False
    while left_over:
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            raise (TimedOut if doubtful else Unavailable)("the stream did not answer in time; try again")
        try:
            answers = await mailbox_of(nc).ask_each(left_over, timeout_s=left)
        except Unavailable as e:
            if doubtful:
                raise TimedOut(f"it is not known whether all messages were kept: {e.message}") from e
            raise
        again = []
        for message, answer in zip(left_over, answers, strict=True):
            if isinstance(answer, NoAnswer | NobodyThere):
                doubtful |= isinstance(answer, NoAnswer)
                again.append(message)
            elif (error := decode_ack(answer.data).error) is not None:
                if not error.passing:
                    raise Unavailable(f"the stream does not take the message: {error.description}")
                again.append(message)
        left_over = again
        if left_over:
            await asyncio.sleep(_RETRY_PAUSE_S)
