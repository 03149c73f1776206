"""Telling of changes, against a model of the stream: several nodes, slow ones, lost answers, in every order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afterwit.bus.announcing import REFUSED, Announcer, Last, Outcome
from afterwit.bus.log import LogRecord
from afterwit.bus.notices import KEPT
from afterwit.schemas import LogEntry, Notice, TimedOut
from tests.samples import NOON, entry, next_version


class Model:
    """A log and a stream of notices in memory; each call takes its time, and answers can get lost."""

    def __init__(self, seed: int = 0, *, lose: float = 0.0) -> None:
        self.told: list[Notice] = []
        self.reads = 0
        self._versions: dict[str, list[LogEntry]] = {}
        self._seq = 0
        self._random = random.Random(seed)  # noqa: S311  # not a secret
        self._lose = lose

    def append(self, new: LogEntry) -> LogEntry:
        self._seq += 1
        placed = msgspec.structs.replace(new, memory=msgspec.structs.replace(new.memory, seq=self._seq))
        self._versions.setdefault(new.memory.id, []).append(placed)
        return placed

    def forget_notices(self) -> None:
        self.told = []

    def versions_told(self, id: str) -> list[int]:
        return [notice.version for notice in self.told if notice.id == id]

    async def last(self, memories: Sequence[Notice], *, surely: bool) -> dict[str, Last]:
        self.reads += 1
        await self._pause()
        found = {memory.id: self._last(memory.id) for memory in memories}
        await self._pause()
        return {id: last for id, last in found.items() if last.seq}

    async def attempt(self, notices: Sequence[tuple[Notice, int]], timeout_s: float) -> list[Outcome]:
        await self._pause()
        outcomes: list[Outcome] = []
        for notice, expected_seq in notices:
            if self._last(notice.id).seq != expected_seq or self._random.random() < self._lose:
                outcomes.append(REFUSED)
                continue
            self.told.append(notice)
            outcomes.append(REFUSED if self._random.random() < self._lose else len(self.told))
        await self._pause()
        return outcomes

    async def history(self, id: str, pool: str) -> list[LogRecord]:
        self.reads += 1
        await self._pause()
        return [LogRecord(version, version.memory.seq or 0) for version in self._versions.get(id, [])]

    def _last(self, id: str) -> Last:
        at = max((i for i, notice in enumerate(self.told, 1) if notice.id == id), default=0)
        return Last(at, self.told[at - 1].version) if at else Last()

    async def _pause(self) -> None:
        for _ in range(self._random.randrange(4)):
            await asyncio.sleep(0)


def versions_of(model: Model, count: int, start: LogEntry | None = None) -> list[LogEntry]:
    """``count`` versions of one memory, in the log."""
    first = start or entry()
    versions = [model.append(first)]
    for _ in range(count - 1):
        versions.append(model.append(next_version(versions[-1])))
    return versions


@settings(max_examples=60)
@given(
    counts=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    seed=st.integers(0, 2**32),
    lose=st.sampled_from([0.0, 0.1, 0.4]),
    nodes=st.integers(1, 4),
)
async def test_every_version_is_told_of_once_and_in_order(
    counts: list[int], seed: int, lose: float, nodes: int
) -> None:
    """Entries are dealt to nodes in any order, some twice; each version is heard of once, after the one before."""
    model, chance = Model(seed, lose=lose), random.Random(seed)  # noqa: S311
    memories = [versions_of(model, count) for count in counts]
    dealt = [version for versions in memories for version in versions]
    dealt += [version for version in dealt if chance.random() < 0.3]
    chance.shuffle(dealt)

    async def node(share: list[LogEntry]) -> None:
        announcer = Announcer(model, model, within_s=30.0)
        while share:
            batch, share = share[: (n := chance.randint(1, 3))], share[n:]
            await announcer.announce(batch)

    await asyncio.gather(*(node(dealt[n::nodes]) for n in range(nodes)))
    for versions in memories:
        assert model.versions_told(versions[0].memory.id) == list(range(1, len(versions) + 1))


async def test_of_new_memories_nothing_is_read() -> None:
    model = Model()
    await Announcer(model, model).announce([versions_of(model, 1)[0] for _ in range(100)])
    assert (len(model.told), model.reads) == (100, 0)


async def test_an_update_costs_one_look() -> None:
    model = Model()
    one, two, three = versions_of(model, 3)
    announcer = Announcer(model, model)
    await announcer.announce([one])
    await announcer.announce([two, three])
    assert (model.versions_told(one.memory.id), model.reads) == ([1, 2, 3], 1)


async def test_who_is_early_tells_of_what_came_before() -> None:
    model = Model()
    versions = versions_of(model, 4)
    await Announcer(model, model).announce([versions[3]])
    assert model.versions_told(versions[0].memory.id) == [1, 2, 3, 4]
    await Announcer(model, model).announce(versions[:3])
    assert model.versions_told(versions[0].memory.id) == [1, 2, 3, 4]


async def test_what_would_no_longer_be_kept_is_not_told_again() -> None:
    model = Model()
    start = entry(updated_at=NOON)
    old = versions_of(model, 2, start)
    young = model.append(next_version(old[-1], updated_at=NOON + KEPT))
    newest = model.append(next_version(young, updated_at=NOON + KEPT))

    def now() -> datetime:
        return NOON + KEPT + timedelta(days=1)

    await Announcer(model, model, now=now).announce([newest])
    assert model.versions_told(start.memory.id) == [3, 4]
    model.forget_notices()
    await Announcer(model, model, now=now).announce([old[1]])
    assert model.versions_told(start.memory.id) == [2], "an old entry that comes again is told of alone"


async def test_a_tombstone_on_the_way_is_left_to_who_erases() -> None:
    model = Model()
    one = versions_of(model, 1)[0]
    tombstone = model.append(next_version(one, status="purged"))
    later = model.append(next_version(tombstone))
    await Announcer(model, model).announce([later])
    assert model.versions_told(one.memory.id) == [1, 3]


async def test_it_does_not_wait_for_ever() -> None:
    model = Model(lose=1.0)
    with pytest.raises(TimedOut):
        await Announcer(model, model, within_s=0.2).announce(versions_of(model, 1))
