"""Taking messages out of streams for good: deleted, and their bytes on the disk overwritten.

Measured with nats-server 2.15: `$JS.API.STREAM.MSG.DELETE` overwrites the message in its block, headers and subject
included, before it answers (15 ms in a block of 6 MB). An acknowledged message of a work queue, however, is only
marked as deleted. Its bytes go when its block holds no other message any more: then the block's file is removed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Final

import msgspec
from nats.aio.client import Client

from ..schemas import TimedOut, Unavailable
from . import names
from ._publish import AckError, publish_acked
from .direct import Reader, Stored
from .mailbox import NoAnswer, NobodyThere, Question, mailbox_of

_NOT_THERE: Final = frozenset({10037, 10043, 10057})
"""No message found; sequence not found; beyond the stream's end."""
_LARGEST_BLOCK: Final = 8 << 20
"""No file of a stream is larger (nats-server 2.15: 4 MB for a work queue without size limit)."""
_AT_REST_WITHIN_S: Final = 1.0
_PAUSE_S: Final = 0.05

log = logging.getLogger(__name__)


class _Deleted(msgspec.Struct):
    success: bool = False
    error: AckError | None = None


class _State(msgspec.Struct):
    messages: int
    first_seq: int
    last_seq: int


class _Info(msgspec.Struct):
    state: _State | None = None
    error: AckError | None = None


class Eraser:
    """Erases in the streams of one connection. Erasing what is gone already changes nothing.

    Every method raises `Unavailable` when JetStream does not answer, and is repeated without harm.
    """

    def __init__(self, nc: Client, *, timeout_s: float = 10.0) -> None:
        self._nc = nc
        self._timeout_s = timeout_s

    async def erase(self, stream: str, seqs: Iterable[int]) -> int:
        """Erase the messages with these sequences; answers how many were there."""
        count = 0
        for seq in seqs:  # one at a time: each rewrites a part of a block, and several wait for one another anyway
            count += await self._erase(stream, seq)
        return count

    async def erase_earlier(self, stream: str, subject: str, seq: int) -> int:
        """Erase what stands on ``subject`` before ``seq``, where the subject's newest message is; answers how many.

        Raises:
            Unavailable: also if the replica that was asked has not come as far as ``seq`` yet.
        """
        found = [stored.seq async for stored in Reader(self._nc, stream).scan(subject=subject)]
        if seq not in found:
            raise Unavailable(f"{stream} was read where message {seq} is not known yet; try again")
        return await self.erase(stream, [each for each in found if each < seq])

    async def erase_mentions(self, stream: str, words: Iterable[bytes]) -> int:
        """Erase the messages in which one of ``words`` stands, in payload or headers; reads the whole stream."""
        wanted = tuple(words)
        found = [stored.seq async for stored in Reader(self._nc, stream).scan() if _mentions(stored, wanted)]
        return await self.erase(stream, found)

    async def wash(self, stream: str, filler: str, *, within_s: float = 60.0) -> None:
        """Return when the bytes of all that was acknowledged in a work queue so far are gone from the disk.

        A queue that is empty for a moment has removed its files. One that never is gets messages without meaning, on
        the subject ``filler``, until it has begun a new file; the old one goes with the last of its messages.

        Raises:
            TimedOut: some of its messages are still not acknowledged.
        """
        if await self._came_to_rest(stream):
            return
        size = min(self._nc.max_payload - names.HEADER_ALLOWANCE, _LARGEST_BLOCK)
        fill = [Question(filler, bytes(size))] * (_LARGEST_BLOCK // size + 1)
        await publish_acked(self._nc, fill, timeout_s=self._timeout_s)
        last = (await self._state(stream)).last_seq
        deadline = asyncio.get_running_loop().time() + within_s
        while (state := await self._state(stream)).messages and state.first_seq <= last:
            if asyncio.get_running_loop().time() > deadline:
                raise TimedOut(f"{stream} still holds messages that were there before {within_s:g} s")
            await asyncio.sleep(_PAUSE_S)

    async def _came_to_rest(self, stream: str) -> bool:
        deadline = asyncio.get_running_loop().time() + _AT_REST_WITHIN_S
        while (await self._state(stream)).messages:
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(_PAUSE_S)
        return True

    async def _state(self, stream: str) -> _State:
        info = msgspec.json.decode(await self._ask(names.stream_info(stream), b""), type=_Info)
        if info.state is None:
            raise Unavailable(f"{stream} cannot be looked at: {info.error.description if info.error else 'no state'}")
        return info.state

    async def _erase(self, stream: str, seq: int) -> bool:
        question = msgspec.json.encode({"seq": seq, "no_erase": False})
        reply = msgspec.json.decode(await self._ask(names.message_delete(stream), question), type=_Deleted)
        if reply.error is None:
            return reply.success
        if reply.error.err_code in _NOT_THERE:
            return False
        raise Unavailable(f"message {seq} of {stream} cannot be erased now: {reply.error.description}")

    async def _ask(self, subject: str, data: bytes) -> bytes:
        try:
            return (await mailbox_of(self._nc).ask(Question(subject, data), timeout_s=self._timeout_s)).data
        except (NoAnswer, NobodyThere) as e:
            raise Unavailable(f"JetStream does not answer on {subject}; try again") from e


def _mentions(stored: Stored, words: tuple[bytes, ...]) -> bool:
    headers = "\n".join(stored.headers.values()).encode()
    return any(word in stored.data or word in headers for word in words)
