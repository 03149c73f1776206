"""Who works while things break: writers, counters, readers. Each notes what it asked for and what it was told."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tests.engines.agents import Refused, Reply

from .doors import Asking, NoAnswer, OverNats
from .history import Outcome, Write, written
from .ledger import Ledger, Reader

GROUP: Final = 40
"""So many memories share a tag, by which they are found together in the end."""
QUERY: Final = "reading"
"""A word that all contents hold, so that what is filtered by tag is found whatever its vector."""
_WORDS: Final = ("tide", "pump", "valve", "silo", "gate", "crane", "潮", "泵", "阀", "reading", "水位", "夜班")
_GIVES_UP: Final = 0.1
"""How likely a writer is not to try again: then what was not acknowledged may be there whole, or not at all."""


@dataclass
class Worker:
    """What they have in common. ``stop`` ends them when what they have in hand is settled."""

    name: str
    door: Asking
    pool: str
    ledger: Ledger
    stop: asyncio.Event
    chance: random.Random
    pause_s: float = 0.02
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def rest(self, *, longer: bool = False) -> None:
        """Do nothing for a moment: there are two cores, and nobody else to ask."""
        pause = 0.3 if longer else self.pause_s
        await asyncio.sleep(pause * self.chance.uniform(0.5, 1.5))

    async def write(
        self, what: Literal["store", "ingest", "update"], mark: str, request: Reply
    ) -> tuple[Outcome, Reply]:
        """Try once, and note how it went."""
        began = self.ledger.now()
        outcome: Outcome = "unknown"
        code = ""
        reply: Reply = {}
        try:
            if what == "ingest":
                assert isinstance(self.door, OverNats)
                await self.door.ingest(self.pool, request)
            else:
                reply = (await self.door.ask(what, **request))["memory"]
            outcome = "acknowledged"
        except Refused as e:
            code = e.code
            outcome = "unknown" if e.code in ("timeout", "internal") else "refused"
        except NoAnswer as e:
            code = str(e)[:80]
        write = Write(
            agent=self.door.agent,
            worker=self.name,
            door=self.door.door,
            what=what,
            mark=mark,
            began=began,
            ended=self.ledger.now(),
            outcome=outcome,
            code=code,
            keyed="idempotency_key" in request,
            id=reply.get("id") or request.get("id"),
            version=reply.get("version"),
            seq=reply.get("seq"),
        )
        self.ledger.history.writes.append(write)
        return write.outcome, reply

    async def get(self, id: str, told: int | None = None) -> Reply | None:
        """Read by id, if there is an answer."""
        began = self.ledger.now()
        try:
            memory: Reply = (await self.door.ask("get", id=id))["memory"]
        except Refused as e:
            if e.code == "not_found":
                self.ledger.read(self.reader(told), "get", id, began, None)
            else:
                self.ledger.refused(e)
            return None
        except NoAnswer:
            self.ledger.unanswered += 1
            return None
        self.ledger.read(self.reader(told), "get", id, began, memory)
        return memory

    async def retrieve(self, id: str, tag: str, told: int | None = None) -> None:
        """Find the memory by its tag, if there is an answer."""
        began = self.ledger.now()
        try:
            reply = await self.door.ask(
                "retrieve", query=QUERY, pools=[self.pool], tags=[tag], top_k=3, max_content_length=65_536
            )
        except Refused as e:
            self.ledger.refused(e)
            return
        except NoAnswer:
            self.ledger.unanswered += 1
            return
        found = [item["memory"] for item in reply["items"] if item["memory"]["id"] == id]
        if not found and "index" in reply["degraded"]:
            return  # it said that it cannot tell
        self.ledger.read(self.reader(told), "retrieve", id, began, found[0] if found else None)

    def reader(self, told: int | None = None) -> Reader:
        """Who reads, for the ledger."""
        return Reader(self.door.agent, self.name, told)

    def memory(self, mark: str, count: int) -> dict[str, Any]:
        """What a new version holds: now and then something long."""
        length = self.chance.choice((5, 20, 60, 60, 200, 3000) if self.chance.random() < 0.1 else (5, 20, 40))
        content = f"{QUERY} {mark} {count} " + " ".join(self.chance.choices(_WORDS, k=length))
        return {"content": content, "data": written(mark, count, content)}


@dataclass
class Writer(Worker):
    """Stores. With ``keyed`` it repeats what was not answered until it is; else it lets it be."""

    keyed: bool = True
    what: Literal["store", "ingest"] = "store"

    async def run(self) -> None:
        """Until told to stop."""
        while not self.stop.is_set():
            number = next(self.numbers)
            mark = f"{self.name}-{number}"
            tags = [mark, f"{self.name}-group-{number // GROUP}"]
            request: Reply = {"pool": self.pool, "tags": tags, **self.memory(mark, 0)}
            if self.keyed:
                request["idempotency_key"] = mark
            outcome, memory = await self.write(self.what, mark, request)
            while self.keyed and outcome != "acknowledged" and self.chance.random() > _GIVES_UP:
                await self.rest(longer=True)
                outcome, memory = await self.write(self.what, mark, request)
            if memory:
                self.ledger.known.append((memory["id"], mark))
                if number % 3 == 0:
                    await self.get(memory["id"])
                    await self.retrieve(memory["id"], mark)
            await self.rest(longer=outcome != "acknowledged")


@dataclass
class Counter(Worker):
    """Counts in memories that others count in as well; ``counters`` are their ids and tags."""

    counters: list[tuple[str, str]] = field(default_factory=list)

    async def run(self) -> None:
        """Until told to stop."""
        while not self.stop.is_set():
            id, tag = self.chance.choice(self.counters)
            memory = await self.get(id)
            if memory is None:
                await self.rest(longer=True)
                continue
            mark = f"{self.name}-{next(self.numbers)}"
            changed = self.memory(mark, memory["data"]["count"] + 1)
            request = {"id": id, "expected_version": memory["version"], **changed}
            outcome, made = await self.write("update", mark, request)
            if made and self.chance.random() < 0.3:
                await self.retrieve(id, tag)
            await self.rest(longer=outcome != "acknowledged" and not memory)


@dataclass
class Onlooker(Worker):
    """Reads what others wrote."""

    async def run(self) -> None:
        """Until told to stop."""
        while not self.stop.is_set():
            if known := self.ledger.any_known(self.chance):
                await self.get(known[0])
                await self.retrieve(*known)
            await self.rest()


@asynccontextmanager
async def working(*workers: Writer | Counter | Onlooker) -> AsyncIterator[None]:
    """All of them, for as long as the block runs; then each finishes what it has in hand."""
    async with asyncio.TaskGroup() as tasks:
        for worker in workers:
            tasks.create_task(worker.run(), name=worker.name)
        try:
            yield
        finally:
            for worker in workers:
                worker.stop.set()
