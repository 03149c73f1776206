"""Judges a history: a pure function. Each rule says what was promised, and what was seen instead."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import Final

from .history import Found, History, Read, Told, Version, Write

UNDERSTOOD: Final = frozenset({"unavailable", "timeout", "stale", "quota"})
"""Errors that a client of a system in trouble must expect."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was broken. ``rule`` names the promise, ``about`` is a memory's id or a request's mark."""

    rule: str
    about: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.about}: {self.what}"


@dataclass(frozen=True)
class _Facts:
    """The history, in the orders that the rules need."""

    history: History

    @cached_property
    def by_mark(self) -> dict[str, list[Write]]:
        attempts: dict[str, list[Write]] = defaultdict(list)
        for write in self.history.writes:
            attempts[write.mark].append(write)
        return attempts

    @cached_property
    def logged(self) -> dict[str, list[Version]]:
        """The versions that hold a mark."""
        versions: dict[str, list[Version]] = defaultdict(list)
        for version in self.history.versions:
            versions[version.mark].append(version)
        return versions

    @cached_property
    def memories(self) -> dict[str, list[Version]]:
        """The versions of each memory, in the order of the log."""
        versions: dict[str, list[Version]] = defaultdict(list)
        for version in sorted(self.history.versions, key=attrgetter("seq")):
            versions[version.id].append(version)
        return versions

    @cached_property
    def reads(self) -> dict[str, list[Read]]:
        reads: dict[str, list[Read]] = defaultdict(list)
        for read in sorted(self.history.reads, key=attrgetter("began")):
            reads[read.id].append(read)
        return reads

    @cached_property
    def acknowledged(self) -> dict[str, list[Write]]:
        """Acknowledged writes of each memory whose version is known."""
        writes: dict[str, list[Write]] = defaultdict(list)
        for write in self.history.writes:
            if write.outcome == "acknowledged" and write.id is not None and write.version is not None:
                writes[write.id].append(write)
        return writes

    @cached_property
    def open_updates(self) -> Counter[str]:
        """How many updates of each memory were never answered."""
        return Counter(w.id for w in self.history.writes if w.what == "update" and w.outcome == "unknown" and w.id)


def check(history: History) -> list[Violation]:
    """Every broken promise; none if all were kept."""
    facts = _Facts(history)
    return [violation for rule in RULES for violation in rule(facts)]


def nothing_lost(facts: _Facts) -> Iterator[Violation]:
    """G1: what was acknowledged is in the log, where the answer said."""
    for mark, attempts in facts.by_mark.items():
        promised = [a for a in attempts if a.outcome == "acknowledged"]
        there = facts.logged.get(mark, [])
        if promised and not there:
            yield Violation("lost", mark, f"{promised[0].what} was acknowledged and is not in the log")
        for attempt in promised:
            if attempt.id is None or not there:
                continue
            if not any(v.id == attempt.id and v.version == attempt.version for v in there):
                at = ", ".join(f"{v.id} version {v.version}" for v in there)
                yield Violation("lost", mark, f"acknowledged as {attempt.id} version {attempt.version}, is at {at}")
            elif attempt.seq is not None and all(attempt.seq not in {v.seq, *v.again} for v in there):
                yield Violation("lost", mark, f"acknowledged at {attempt.seq} of the log, is at {there[0].seq}")


def nothing_twice(facts: _Facts) -> Iterator[Violation]:
    """G2: what was asked for once, or often with one key, was done at most once; retrieval finds a memory once."""
    for mark, versions in facts.logged.items():
        if len(versions) > 1:
            at = ", ".join(f"{v.id} version {v.version}" for v in versions)
            yield Violation("duplicate", mark, f"is in the log {len(versions)} times: {at}")
    for mark, attempts in facts.by_mark.items():
        ids = {a.id for a in attempts if a.outcome == "acknowledged" and a.id is not None}
        if len(ids) > 1:
            yield Violation("duplicate", mark, f"one key was answered with {len(ids)} memories")
    for id, times in Counter(found.id for found in facts.history.found).items():
        if times > 1:
            yield Violation("duplicate", id, f"is found {times} times")


def nothing_refused(facts: _Facts) -> Iterator[Violation]:
    """What was refused each time it was tried, or never asked for, is not there."""
    for mark, versions in facts.logged.items():
        attempts = facts.by_mark.get(mark)
        if attempts is None:
            yield Violation("unasked", versions[0].id, f"version {versions[0].version} was written by nobody: {mark}")
        elif all(a.outcome == "refused" for a in attempts):
            codes = ", ".join(sorted({a.code for a in attempts}))
            yield Violation("refused", mark, f"was refused ({codes}) and is in the log")


def no_update_lost(facts: _Facts) -> Iterator[Violation]:
    """G5: versions follow each other without a gap, each made from its predecessor; no two updates share one."""
    for id, versions in facts.memories.items():
        for position, version in enumerate(versions, start=1):
            if version.version != position:
                yield Violation("versions", id, f"version {version.version} stands where {position} belongs")
                break
        for before, after in pairwise(versions):
            if after.count != before.count + 1:
                yield Violation(
                    "lost update",
                    id,
                    f"version {after.version} counts {after.count} and its predecessor {before.count}",
                )
                break
    for id, writes in facts.acknowledged.items():
        updates = [w for w in writes if w.what == "update"]
        for made, times in Counter(w.version for w in updates).items():
            if times > 1:
                yield Violation("lost update", id, f"{times} updates were acknowledged as version {made}")
        open_ones = facts.open_updates[id]
        made_versions = len(facts.memories.get(id, [])) - 1
        if updates and not len(updates) <= made_versions <= len(updates) + open_ones:
            yield Violation(
                "lost update",
                id,
                f"{len(updates)} updates acknowledged, {open_ones} open, {made_versions} in the log",
            )


def nothing_half(facts: _Facts) -> Iterator[Violation]:
    """A memory's content and data belong together, wherever it is seen."""
    for version in facts.history.versions:
        if not version.whole:
            yield Violation("half", version.id, f"version {version.version} in the log is not whole")
    for read in facts.history.reads:
        if not read.whole:
            yield Violation("half", read.id, f"version {read.version} was read ({read.how}) and is not whole")
    for found in facts.history.found:
        if not found.whole:
            yield Violation("half", found.id, f"version {found.version} is found and is not whole")


def last_versions_found(facts: _Facts) -> Iterator[Violation]:
    """G1, G7: in the end retrieval finds everything that is in the log, in its last version, and nothing else."""
    found: dict[str, Found] = {f.id: f for f in facts.history.found}
    for id, versions in facts.memories.items():
        last = versions[-1].version
        if id not in found:
            yield Violation("not found", id, f"version {last} is in the log and is not found")
        elif found[id].version != last:
            yield Violation("not found", id, f"version {found[id].version} is found, {last} is the last")
    for id in found.keys() - facts.memories.keys():
        yield Violation("unasked", id, "is found and is not in the log")


def reads_follow_writes(facts: _Facts) -> Iterator[Violation]:
    """G3: who acknowledged a write sees it; reading by URI is always current; nobody sees time run backwards."""
    for id, reads in facts.reads.items():
        writes = facts.acknowledged.get(id, [])
        known = [(w.ended, w.version or 0) for w in writes]
        known += [(r.ended, r.version or 0) for r in reads if r.how == "get"]
        yield from _not_behind((r for r in reads if r.how == "get"), known, "stale read")
        for agent in {r.agent for r in reads}:
            # Only what the answer called visible (it has a seq) is promised to be found at once.
            own = [(w.ended, w.version or 0) for w in writes if w.agent == agent and w.seq is not None]
            mine = [r for r in reads if r.agent == agent and r.how == "retrieve"]
            yield from _not_behind(mine, own, "own write not found")
        for worker in {r.worker for r in reads}:
            mine = [r for r in reads if r.worker == worker and r.how == "retrieve"]
            yield from _not_behind(mine, [(r.ended, r.version or 0) for r in mine], "time ran backwards")
        last = facts.memories[id][-1].version if id in facts.memories else 0
        for read in reads:
            if read.version is not None and read.version > last:
                yield Violation("unasked", id, f"version {read.version} was read ({read.how}), the log ends at {last}")


def notices_complete(facts: _Facts) -> Iterator[Violation]:
    """G4: each version is told at least once to whoever follows a cursor, as what it is."""
    seqs = {(v.id, v.version): v.seq for v in facts.history.versions}
    heard: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for told in facts.history.told:
        key = (told.id, told.version)
        if seqs.get(key) != told.seq:
            yield Violation("false notice", told.id, f"of version {told.version} at {told.seq}: {seqs.get(key)}")
        if not told.live:
            heard[told.subscriber].add(key)
    for subscriber in facts.history.complete:
        for id, version in seqs.keys() - heard[subscriber]:
            yield Violation("no notice", id, f"of version {version} to {subscriber}")


def notices_in_order(facts: _Facts) -> Iterator[Violation]:
    """Each memory's versions are told in their order. One may be told again: it was told before.

    Who listens live may have missed that it was told before; whoever follows a cursor has seen how often it was.
    """
    streams: dict[tuple[str, int, bool], list[Told]] = defaultdict(list)
    followed = Counter((t.subscriber, t.id, t.version) for t in facts.history.told if not t.live)
    repeated = {(id, version) for (_, id, version), times in followed.items() if times > 1}
    for told in facts.history.told:
        if not told.live or (told.id, told.version) not in repeated:
            streams[told.subscriber, told.spell if told.live else 0, told.live].append(told)
    for (subscriber, _, _), stream in streams.items():
        newest: dict[str, int] = {}
        seen: set[tuple[str, int]] = set()
        for told in stream:
            key = (told.id, told.version)
            if key not in seen and told.version < newest.get(told.id, 0):
                yield Violation(
                    "notices out of order",
                    told.id,
                    f"{subscriber} was told of version {told.version} after {newest[told.id]}",
                )
            seen.add(key)
            newest[told.id] = max(newest.get(told.id, 0), told.version)


def notices_not_early(facts: _Facts) -> Iterator[Violation]:
    """G4: who reads on being told sees that version, or a later one."""
    for read in facts.history.reads:
        if read.told is not None and (read.version or 0) < read.told:
            yield Violation(
                "early notice", read.id, f"of version {read.told}; then {read.how} gave {read.version or 'nothing'}"
            )


def no_other_errors(facts: _Facts) -> Iterator[Violation]:
    """Trouble with a part is told as what it is; nobody is told of an error that is the bus's own."""
    codes = Counter(facts.history.refusals)
    codes.update(w.code for w in facts.history.writes if w.outcome == "refused" or w.code == "internal")
    for code in codes.keys() - UNDERSTOOD:
        yield Violation("error", code, f"was answered {codes[code]} times")


RULES: Final[tuple[Callable[[_Facts], Iterable[Violation]], ...]] = (
    nothing_lost,
    nothing_twice,
    nothing_refused,
    no_update_lost,
    nothing_half,
    last_versions_found,
    reads_follow_writes,
    notices_complete,
    notices_in_order,
    notices_not_early,
    no_other_errors,
)


def _not_behind(reads: Iterable[Read], known: list[tuple[float, int]], rule: str) -> Iterator[Violation]:
    """Each read gives at least the newest version that was known before it began."""
    known = sorted(known)
    times = [time for time, _ in known]
    newest: list[int] = []
    for _, version in known:
        newest.append(max(version, newest[-1] if newest else 0))
    for read in reads:
        before = bisect_left(times, read.began)
        if before and (read.version or 0) < newest[before - 1]:
            yield Violation(
                rule,
                read.id,
                f"{read.worker} got {read.version or 'nothing'} ({read.how}), {newest[before - 1]} was known",
            )
