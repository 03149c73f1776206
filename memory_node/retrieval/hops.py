"""Hops: from the best hits on to what they are linked with and what names the same, where no word of the query leads.

A hop is one search among the neighbours of what was reached last, under the very filter of the retrieval. So what the
caller may not find is not passed through either, and counts for nothing: not for how rare a name is, nor for a score.
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...schemas import Memory
from ...schemas.words import Rel
from ..index import Calibration, Hit, Index, IndexFilter, IndexQuery, Near, folded
from .naming import names_of
from .senses import Meaning, meant_by

SOURCES: Final = 8
"""A hop leads on from so many memories: the best hits, then the best of what the hop before has reached."""
FAN_OUT: Final = 64
"""What one hop brings at most: of all neighbours those that fit the query best."""
NAMES: Final = 24
"""Names that one hop follows at most, the rarest first."""
_COUNTED: Final = 128
_FEWEST: Final = 2
"""A name that only one memory has leads nowhere."""

DECAY: Final = 0.7
BY_NAME: Final = 0.6
ALONG: Final[Mapping[Rel, float]] = {
    "caused_by": 0.9,
    "derived_from": 0.8,
    "supports": 0.7,
    "related_to": 0.7,
    "contradicts": 0.6,
    "supersedes": 0.3,
}
"""What following a link of each kind is worth, beside the weight of the link itself."""
AGAINST: Final[Mapping[Rel, float]] = {**ALONG, "caused_by": 0.8, "derived_from": 0.7, "supersedes": 0.9}
"""Likewise from a link's target to its source: to effects, to what was drawn from it, to what replaced it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One hop on from the memory ``source``; ``via`` says in words over what."""

    source: str
    via: str
    weight: float


@dataclass(frozen=True, slots=True)
class Reached:
    """How a memory was reached: the steps from a hit, whose ``score`` is 0…1, and their ``weight`` together, 0…1."""

    score: float
    weight: float = 1.0
    path: tuple[Step, ...] = ()

    @property
    def strength(self) -> float:
        """What is left of the hit's score after these steps."""
        return self.score * self.weight


async def hopped(
    index: Index,
    calibration: Calibration,
    query: IndexQuery,
    hits: Sequence[Hit],
    scores: Mapping[str, float],
    hops: int,
) -> tuple[list[Hit], dict[str, Reached]]:
    """``hits`` with what ``hops`` steps from the best of them bring, and how memories were reached, by id.

    ``query`` is what found ``hits``, ``scores`` what they were given (0…1). No path comes back to where it has been.

    Raises:
        Unavailable: the index is away.
    """
    known = {hit.id: hit for hit in hits}
    reached: dict[str, Reached] = {}
    frontier = {id: Reached(scores[id]) for id in sorted(known, key=lambda id: (-scores[id], id))[:SOURCES]}
    total = await index.count(query.filter)
    for _ in range(hops):
        sources = [known[id].memory for id in frontier]
        names = await _rarest_names(index, query.filter, sources, total)
        for hit in await index.search(_among_neighbours(query, sources, names)):
            known.setdefault(hit.id, hit)
        memories = [hit.memory for hit in known.values()]
        forms = {key: name.form for key, name in names.items()}
        meanings = await meant_by(index, calibration, memories, forms)
        ahead: dict[str, Reached] = {}
        for target, reach in _steps(frontier, sources, memories, names, meanings):
            stronger = max((ahead.get(target), reached.get(target)), key=_strength)
            if reach.strength > _strength(stronger):
                ahead[target] = reach
        reached |= ahead
        frontier = dict(sorted(ahead.items(), key=lambda each: (-each[1].strength, each[0]))[:SOURCES])
        if not frontier:
            break
    return list(known.values()), reached


@dataclass(frozen=True, slots=True)
class _Name:
    """A name that is followed: as it is written, and how much it says, 0…1."""

    form: str
    weight: float


async def _rarest_names(index: Index, where: IndexFilter, sources: Sequence[Memory], total: int) -> dict[str, _Name]:
    """The names in ``sources`` that say most: by their idf among the ``total`` that ``where`` lets through.

    It is BM25's, ln(1 + (N - n + 0.5) / (n + 0.5)), as a share of that of a name in two memories. How many have a name
    is counted among the newest that have any of them, which is exact where these are all (a facet counts all of them,
    and takes the engine thirty times as long).
    """
    forms = {key: form for memory in sources for key, form in names_of(memory).items()}
    if not forms:
        return {}
    written = tuple(forms.values())
    naming = dataclasses.replace(where, near=Near(entities=written, subjects=written))
    having, newest = await asyncio.gather(index.count(naming), index.find(naming, _COUNTED))
    counted = {memory.id: memory for memory in (*newest, *sources)}
    seen = Counter(key for memory in counted.values() for key in names_of(memory).keys() & forms.keys())
    all_seen = having <= len(newest)
    most = _idf(_FEWEST, max(total, _FEWEST))
    names = []
    for key, form in forms.items():
        count = seen[key] if all_seen else max(_FEWEST, seen[key] * having / len(counted))
        if count >= _FEWEST:
            names.append((key, _Name(form, min(1.0, _idf(min(count, total), total) / most))))
    return dict(sorted(names, key=lambda each: (-each[1].weight, each[0]))[:NAMES])


def _among_neighbours(query: IndexQuery, sources: Sequence[Memory], names: Mapping[str, _Name]) -> IndexQuery:
    written = tuple(name.form for name in names.values())
    near = Near(
        ids=tuple(dict.fromkeys(link.target for memory in sources for link in memory.links)),
        linking=tuple(memory.id for memory in sources),
        entities=written,
        subjects=written,
    )
    among = dataclasses.replace(query.filter, near=near)
    return dataclasses.replace(query, filter=among, limit=FAN_OUT, depth=FAN_OUT)


def _steps(
    frontier: Mapping[str, Reached],
    sources: Sequence[Memory],
    targets: Sequence[Memory],
    names: Mapping[str, _Name],
    meanings: Mapping[str, frozenset[Meaning]],
) -> Iterator[tuple[str, Reached]]:
    """Every step from the frontier to one of ``targets``."""
    for source in sources:
        so_far = frontier[source.id]
        behind = {source.id, *(step.source for step in so_far.path)}
        for target in targets:
            if target.id in behind:
                continue
            shared = [names[meaning.name] for meaning in meanings[source.id] & meanings[target.id]]
            step = max(_between(source, target, shared), key=_weight, default=None)
            if step is not None:
                yield target.id, Reached(so_far.score, so_far.weight * DECAY * step.weight, (*so_far.path, step))


def _between(source: Memory, target: Memory, shared: Sequence[_Name]) -> Iterator[Step]:
    """All that leads directly from one memory to another."""
    for link in source.links:
        if link.target == target.id:
            yield Step(source.id, link.rel, ALONG[link.rel] * link.weight)
    for link in target.links:
        if link.target == source.id:
            yield Step(source.id, f"{link.rel}, backwards", AGAINST[link.rel] * link.weight)
    for name in shared:
        yield Step(source.id, f"the name {folded(name.form)!r}", BY_NAME * name.weight)


def _strength(reach: Reached | None) -> float:
    return reach.strength if reach is not None else 0.0


def _weight(step: Step) -> float:
    return step.weight


def _idf(count: float, total: int) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5))
