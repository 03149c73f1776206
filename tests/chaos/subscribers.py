"""Who listens while things break: live, and with a cursor; each reads at once what it was told of, as far as it can."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from nats.aio.msg import Msg

from tests.engines.agents import Refused

from .doors import NoAnswer, OverMcp, OverNats
from .load import Worker

_PAGE: Final = 200
_READS_AT_ONCE: Final = 3


@dataclass
class Live(Worker):
    """A NATS subscription. Not every notice is read after: so many reads as the machine bears."""

    spell: int = 0
    _reading: set[asyncio.Task[None]] = field(default_factory=set)

    def reconnected(self) -> None:
        """What was published meanwhile was missed."""
        self.spell += 1

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """For as long as the block runs."""
        assert isinstance(self.door, OverNats)
        subject = f"afterwit.v1.changed.{self.pool.replace('/', '.')}.>"
        subscription = await self.door.nc.subscribe(subject, cb=self._hear)
        await self.door.nc.flush()
        try:
            yield
        finally:
            if self.door.nc.is_connected:
                await subscription.unsubscribe()
            await asyncio.gather(*self._reading)

    async def _hear(self, message: Msg) -> None:
        notice: dict[str, Any] = json.loads(message.data)
        self.ledger.tell(self.name, self.spell, notice, live=True)
        if len(self._reading) < _READS_AT_ONCE:
            task = asyncio.create_task(read_on(self, notice), name=f"{self.name} reads")
            self._reading.add(task)
            task.add_done_callback(self._reading.discard)


@dataclass
class Follower(Worker):
    """Follows a cursor over either door; whatever breaks, it goes on where it was. Over MCP a stream wakes it."""

    cursor: str | None = None
    finished: bool = False
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Until told to stop, and then to the end."""
        waking = asyncio.create_task(self._listen(), name=f"{self.name} listens")
        try:
            over = False
            while not over:
                last = self.stop.is_set()  # a page that was asked for before is not the last one, though it was empty
                over = await self._page() and last
        finally:
            waking.cancel()
            await asyncio.wait((waking,))
        self.finished = True

    async def _page(self) -> bool:
        """One page; whether that was all."""
        request: dict[str, Any] = {"pools": [self.pool], "limit": _PAGE}
        if self.cursor is not None:
            request["cursor"] = self.cursor
        if not isinstance(self.door, OverMcp) and not self.stop.is_set():
            request["wait_ms"] = 1000
        self._wake.clear()
        try:
            reply = await self.door.ask("changes", **request)
        except Refused as e:
            self.ledger.refused(e)
            await self.rest(longer=True)
            return False
        except NoAnswer:
            await self.rest(longer=True)
            return False
        for notice in reply["notices"]:
            self.ledger.tell(self.name, 0, notice, live=False)
        self.cursor = reply["cursor"]
        if reply["notices"]:
            await read_on(self, reply["notices"][-1])
        elif isinstance(self.door, OverMcp) and not self.stop.is_set():
            await self._woken()
        return len(reply["notices"]) == 0

    async def _woken(self) -> None:
        try:
            async with asyncio.timeout(1.0):
                await self._wake.wait()
        except TimeoutError:
            pass  # the stream may be down, or there is nothing to tell

    async def _listen(self) -> None:
        """Keep a stream of the 2026 era open, as far as there is a gateway; a client of its own."""
        if not isinstance(self.door, OverMcp):
            return
        own = OverMcp(self.door.system, self.door.agent, self.pool, "2026-07-28")
        try:
            while True:
                try:
                    client = await own.connected()
                    async with client.listen(resource_subscriptions=[f"memory://{self.pool}"]) as events:
                        async for _ in events:
                            self._wake.set()
                except (Exception, ExceptionGroup):  # noqa: BLE001  # a stream may end in any way when its gateway dies
                    await own.close()
                await self.rest(longer=True)
        finally:
            await own.close()


async def read_on(worker: Worker, notice: dict[str, Any]) -> None:
    """Read at once what a notice says can be read: by id, and by retrieval."""
    memory = await worker.get(notice["id"], notice["version"])
    if memory is not None:
        await worker.retrieve(notice["id"], memory["tags"][0], notice["version"])
