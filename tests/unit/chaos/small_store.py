"""A small store in memory that keeps all promises, or breaks one on purpose, and a play that records its history."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal

from msgspec.structs import replace

from tests.chaos.history import Found, History, Outcome, Read, Told, Version, Write

Fault = Literal[
    "lost write",
    "duplicate",
    "key forgotten",
    "found twice",
    "lost update",
    "version skipped",
    "refused but done",
    "early notice",
    "missing notice",
    "notice of nothing",
    "out of order",
    "stale get",
    "stale retrieve",
    "time runs backwards",
    "half in the log",
    "half when read",
    "half in the index",
    "index left behind",
    "index forgets",
    "memory from nowhere",
]


@dataclass
class _Kept:
    """A memory: its versions as (mark, count, whole), and which of them the index has."""

    versions: list[Version] = field(default_factory=list)
    indexed: int = 0


class SmallStore:
    """Writes are versions in a list. ``fault`` is done on every third occasion."""

    def __init__(self, fault: Fault | None = None) -> None:
        self.fault = fault
        self._occasions = 0
        self.memories: dict[str, _Kept] = {}
        self.notices: list[tuple[str, int, int]] = []
        self.extra: list[Found] = []
        self._held: list[tuple[str, int, int]] = []
        self._seq = 0
        self._keys: dict[str, str] = {}

    def planted(self, fault: Fault) -> bool:
        """Whether to do ``fault`` now."""
        if self.fault != fault:
            return False
        self._occasions += 1
        return self._occasions % 3 == 0

    def store(self, mark: str, *, keyed: bool) -> Version:
        """One memory for a key, for ever."""
        if keyed and mark in self._keys and not self.planted("key forgotten"):
            return self.memories[self._keys[mark]].versions[0]
        id = f"id-{len(self.memories)}"
        if self.planted("lost write"):
            return Version(id=id, version=1, seq=self._seq + 1, mark=mark, count=0, whole=True)
        self._keys[mark] = id
        made = self._append(id, mark, 0)
        if self.planted("duplicate"):
            self._append(f"{id}-again", mark, 0)
        if self.planted("found twice"):
            self.extra.append(Found(id=id, version=1, whole=True))
        if self.planted("memory from nowhere"):
            self._append(f"{id}-ghost", f"{mark}-ghost", 0)
        return made

    def update(self, id: str, expected: int, mark: str) -> Version | None:
        """The next version; nothing if ``expected`` is not the last."""
        last = self.memories[id].versions[-1]
        if last.version != expected:
            if self.planted("refused but done"):
                self._append(id, mark, last.count + 1)
            return None
        count = last.count if self.planted("lost update") else last.count + 1
        return self._append(id, mark, count, skip=self.planted("version skipped"))

    def get(self, id: str) -> Version:
        """From the log."""
        versions = self.memories[id].versions
        return versions[-2] if len(versions) > 1 and self.planted("stale get") else versions[-1]

    def retrieve(self, id: str) -> int:
        """The version in the index."""
        indexed = self.memories[id].indexed
        if indexed > 1 and (self.planted("stale retrieve") or self.planted("time runs backwards")):
            return indexed - 1
        return indexed

    def _append(self, id: str, mark: str, count: int, *, skip: bool = False) -> Version:
        self._seq += 1
        kept = self.memories.setdefault(id, _Kept())
        number = len(kept.versions) + 1 + skip
        made = Version(
            id=id, version=number, seq=self._seq, mark=mark, count=count, whole=not self.planted("half in the log")
        )
        kept.versions.append(made)
        self._tell(made)
        if not (number > 1 and (self.planted("index left behind") or self.planted("early notice"))):
            kept.indexed = number
        return made

    def _tell(self, made: Version) -> None:
        notice = (made.id, made.version, made.seq)
        if self.planted("missing notice"):
            return
        if self.planted("notice of nothing"):
            self.notices.append((made.id, made.version + 7, made.seq))
        if made.version > 1 and self.planted("out of order"):
            self._held.append(notice)
            return
        self.notices.append(notice)
        self.notices += [held for held in self._held if held[0] == made.id]
        self._held = [held for held in self._held if held[0] != made.id]


def played(store: SmallStore, *, steps: int = 250, seed: int = 1) -> History:
    """The history of some writers and readers of ``store``, one after the other, with answers that get lost."""
    return _Scenario(store, seed).played(steps)


class _Scenario:
    def __init__(self, store: SmallStore, seed: int) -> None:
        self.store = store
        self.history = History(complete=["s"])
        self.chance = random.Random(seed)  # noqa: S311  # the same play each time is what it is for
        self.now = 0.0
        self.agent = ""

    def played(self, steps: int) -> History:
        ids: list[str] = []
        told = 0
        for step in range(steps):
            self.agent = self.chance.choice(("alice", "bob"))
            if len(ids) < 5 or self.chance.random() < 0.2:
                ids.append(self.new(f"m{step}"))
            else:
                self.changed(self.chance.choice(ids), f"u{step}")
            ids = [id for id in ids if id in self.store.memories]
            for id, version, seq in self.store.notices[told:]:
                self.history.told.append(
                    Told(subscriber="s", spell=0, live=False, at=self.now, id=id, version=version, seq=seq)
                )
                self.read(id, told=version)
            told = len(self.store.notices)
            self.read(self.chance.choice(ids))
        self.end()
        return self.history

    def new(self, mark: str) -> str:
        keyed = self.chance.random() < 0.7
        made = self.store.store(mark, keyed=keyed)
        if keyed and self.chance.random() < 0.5:  # the answer was lost: it is tried again
            self.wrote("store", mark, "unknown", None, keyed=True)
            made = self.store.store(mark, keyed=True)
        self.wrote("store", mark, "acknowledged", made, keyed=keyed)
        return made.id

    def changed(self, id: str, mark: str) -> None:
        stale, lost = self.chance.random() < 0.2, self.chance.random() < 0.2
        made = self.store.update(id, self.store.memories[id].versions[-1].version - stale, mark)
        if made is None:
            self.wrote("update", mark, "refused", None, id=id)
        else:
            self.wrote("update", mark, "unknown" if lost else "acknowledged", None if lost else made, id=id)

    def wrote(
        self,
        what: Literal["store", "update"],
        mark: str,
        outcome: Outcome,
        made: Version | None,
        *,
        id: str | None = None,
        keyed: bool = False,
    ) -> None:
        write = Write(
            agent=self.agent,
            worker=self.agent,
            door="nats",
            what=what,
            mark=mark,
            began=self.tick(),
            ended=self.tick(),
            outcome=outcome,
            code="stale" if outcome == "refused" else "",
            keyed=keyed,
            id=made.id if made else id,
            version=made.version if made else None,
            seq=made.seq if made else None,
        )
        self.history.writes.append(write)

    def read(self, id: str, *, told: int | None = None) -> None:
        """Both ways, one after the other."""
        self.history.reads.append(self.answered("get", id, self.store.get(id).version, told))
        retrieved = self.answered("retrieve", id, self.store.retrieve(id) or None, told)
        self.history.reads.append(replace(retrieved, whole=not self.store.planted("half when read")))

    def answered(self, how: Literal["get", "retrieve"], id: str, version: int | None, told: int | None) -> Read:
        began, ended = self.tick(), self.tick()
        return Read(
            agent=self.agent,
            worker=self.agent,
            how=how,
            id=id,
            began=began,
            ended=ended,
            version=version,
            told=told,
        )

    def end(self) -> None:
        for id, kept in self.store.memories.items():
            self.history.versions += kept.versions
            if not self.store.planted("index forgets"):
                whole = not self.store.planted("half in the index")
                self.history.found.append(Found(id=id, version=kept.indexed, whole=whole))
        self.history.found += self.store.extra

    def tick(self) -> float:
        self.now += 0.01
        return self.now
