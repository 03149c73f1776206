"""Notices: published when a version can be read, heard live, and kept for a week for those who were away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Final

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js import JetStreamContext

from ..schemas import Invalid, LogEntry, Notice
from . import names
from ._publish import publish_acked
from .connection import unsubscribe
from .direct import BATCH, Reader, Stored
from .mailbox import Question

KEPT: Final = timedelta(days=7)
"""How long a notice is kept."""

_LARGEST_CURSOR: Final = 2**63
_PAUSES_S: Final = (0.0, 0.0, 0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)

_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(Notice)

log = logging.getLogger(__name__)


def notice_of(entry: LogEntry) -> Notice:
    """The notice of a log entry (with its ``seq`` set)."""
    memory = entry.memory
    assert memory.seq is not None
    return Notice(
        uri=memory.uri,
        pool=memory.pool,
        tier=memory.tier,
        id=memory.id,
        version=memory.version,
        seq=memory.seq,
        change=entry.change,
        actor=entry.actor,
        at=memory.updated_at,
    )


class Notices:
    """Publishes, hears and looks up notices.

    With ``replicas`` over 1 the stream is read in its own order from one replica at a time, so that one that lags
    cannot hide a notice.
    """

    def __init__(self, nc: Client, js: JetStreamContext, *, replicas: int = 1) -> None:
        self._nc = nc
        self._js = js
        self._reader = Reader(nc, names.CHANGES)
        self._lagging_replicas = replicas > 1

    async def publish(self, notices: Sequence[Notice]) -> None:
        """Publish in order, whatever was published before, and return when all are kept. Nodes use `Announcer`.

        Raises:
            Unavailable, TimedOut: some may not have been published.
        """
        await publish_acked(
            self._nc, [Question(names.notice(n.pool, n.tier, n.id), _encoder.encode(n)) for n in notices]
        )

    async def published(self, notice: Notice) -> bool:
        """Whether ``notice``, or a later one of the same memory, was published (and is still kept)."""
        found = await self._reader.last(names.changed(notice.pool, notice.tier, notice.id))
        return found is not None and _decoder.decode(found.data).seq >= notice.seq

    async def subscribe(self, on_notice: Callable[[Notice], None], pool: str | None = None) -> Subscription:
        """Call ``on_notice`` for each notice of ``pool``, or of all pools, from now on. End it by `unsubscribe()`."""

        async def hear(msg: Msg) -> None:
            try:
                on_notice(_decoder.decode(msg.data))
            except msgspec.MsgspecError:
                log.exception("what came on %s is no notice", msg.subject)

        subscription = await self._nc.subscribe(names.changes_of(pool) if pool else names.CHANGED_SUBJECTS, cb=hear)
        await self._nc.flush()
        return subscription

    async def since(
        self, pools: Sequence[str], cursor: str | None, limit: int, wait_ms: int
    ) -> tuple[list[Notice], str]:
        """Up to ``limit`` notices of ``pools`` after ``cursor``, oldest first, and the cursor to go on from.

        Without a cursor it begins at the oldest kept. If there is none yet, waits up to ``wait_ms`` for the first.

        Raises:
            Invalid: the cursor is none of ours.
            Unavailable: NATS is away.
        """
        after = _parse_cursor(cursor)
        if not pools:
            return [], str(after)
        found, after = await self._read(pools, after, limit)
        if found or not wait_ms:
            return found, str(after)
        deadline = asyncio.get_running_loop().time() + wait_ms / 1000
        async with self._listening(pools) as heard:
            while not found and (left := deadline - asyncio.get_running_loop().time()) > 0:
                found, after = await self._read(pools, after, limit)  # what came before we listened
                if not found:
                    found, after = await self._read_when_heard(heard, left, pools, after, limit)
        return found, str(after)

    async def _read_when_heard(
        self, heard: asyncio.Event, left: float, pools: Sequence[str], after: int, limit: int
    ) -> tuple[list[Notice], int]:
        try:
            async with asyncio.timeout(left):
                await heard.wait()
                heard.clear()
                # Listeners hear a message as the stream gets it, a moment before it can be read there.
                for pause_s in _PAUSES_S:
                    found, after = await self._read(pools, after, limit)
                    if found:
                        return found, after
                    await asyncio.sleep(pause_s)
        except TimeoutError:
            pass  # the caller's time is up: an empty page
        return [], after

    @asynccontextmanager
    async def _listening(self, pools: Sequence[str]) -> AsyncIterator[asyncio.Event]:
        """An event that is set when a notice of ``pools`` comes."""
        heard = asyncio.Event()

        async def hear(_: Msg) -> None:
            heard.set()

        async with AsyncExitStack() as subscriptions:
            for pool in pools:
                subscription = await self._nc.subscribe(names.changes_of(pool), cb=hear)
                subscriptions.push_async_callback(unsubscribe, subscription)
            await self._nc.flush()
            yield heard

    async def _read(self, pools: Sequence[str], after: int, limit: int) -> tuple[list[Notice], int]:
        """Up to ``limit`` notices of ``pools`` after sequence ``after``, and the sequence up to which all were seen."""
        if len(set(pools)) == 1:
            page = await self._reader.batch(after, names.changes_of(pools[0]), limit=limit)
            return _notices(page), page[-1].seq if page else after
        if self._lagging_replicas:
            return await self._read_in_order(frozenset(pools), after, limit)
        return await self._read_each(sorted(set(pools)), after, limit)

    async def _read_each(self, pools: Sequence[str], after: int, limit: int) -> tuple[list[Notice], int]:
        """One read per pool, merged. Only what is not newer than the first look counts, lest one overtake another."""
        newest = await self._reader.last(names.CHANGED_SUBJECTS)
        if newest is None or newest.seq <= after:
            return [], after
        pages = await asyncio.gather(*(self._reader.batch(after, names.changes_of(p), limit=limit) for p in pools))
        merged = sorted((s for page in pages for s in page if s.seq <= newest.seq), key=lambda stored: stored.seq)
        page = merged[:limit]
        return _notices(page), page[-1].seq if len(page) == limit else newest.seq

    async def _read_in_order(self, pools: frozenset[str], after: int, limit: int) -> tuple[list[Notice], int]:
        found: list[Stored] = []
        while len(found) < limit:
            page = await self._reader.batch(after, names.CHANGED_SUBJECTS, limit=BATCH)
            for stored in page:
                after = stored.seq
                if names.parse_changed(stored.subject)[0] in pools:
                    found.append(stored)
                    if len(found) == limit:
                        break
            if len(page) < BATCH:
                break
        return _notices(found), after


def _notices(page: Sequence[Stored]) -> list[Notice]:
    return [_decoder.decode(stored.data) for stored in page]


def _parse_cursor(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit()) or int(cursor[:20]) >= _LARGEST_CURSOR or len(cursor) > 19:
        raise Invalid("the cursor must be one from an earlier reply of changes", field="cursor")
    return int(cursor)
