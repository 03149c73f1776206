"""What a pool knows twice: clusters of what is alike, and inside a cluster what says exactly the same.

A duplicate is merged only if nothing is lost with it: whatever finds, limits or labels it holds for the one that stays
as well. In doubt both stay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ...schemas import Memory
from ...schemas.words import Kind
from ..index import language
from .conflicts import SAME, judge
from .keeping import squeezed
from .statements import Statement

ALIKE: Final = SAME - 0.08
"""Calibrated similarity (unit) from which two texts are compared at all: the least that a duplicate may have."""
NEARLY: Final = 0.9
"""…from which two texts of one language in different words may be merged."""
_KNOWLEDGE: Final[frozenset[Kind]] = frozenset({"fact", "preference", "procedure", "lesson"})
_REFLECTION: Final = "reflection"

Pair: TypeAlias = tuple[int, int, float]
"""Two places in a sequence, the first before the second, and how alike what stands there is (unit)."""


@dataclass(frozen=True, slots=True)
class Merge:
    """``repeated`` says what ``keeper`` says (ids), and may go."""

    keeper: str
    repeated: str


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What may be merged, and the ids of those that say what another says and stay all the same."""

    merges: tuple[Merge, ...]
    kept: tuple[str, ...]


def is_compared(memory: Memory) -> bool:
    """Whether it may be a duplicate: what is held to be true. Events may well say the same, each at its time."""
    held = memory.tier == "semantic" or memory.kind in _KNOWLEDGE or memory.fact is not None
    return held and memory.status in ("active", "candidate")


def duplicates(memories: Sequence[Memory], pairs: Sequence[Pair]) -> Duplicates:
    """Judge the ``pairs`` of ``memories`` that are alike, cluster by cluster, the ones to stay first."""
    near: dict[int, dict[int, float]] = defaultdict(dict)
    for i, j, similarity in pairs:
        near[i][j] = near[j][i] = similarity
    merges: list[Merge] = []
    kept: list[str] = []
    for cluster in _clusters(near):
        staying: list[int] = []
        for i in sorted(cluster, key=lambda i: _rank(memories[i])):
            same = [k for k in staying if k in near[i] and _same(memories[k], memories[i], near[i][k])]
            covering = next((k for k in same if covers(memories[k], memories[i])), None)
            if covering is not None:
                merges.append(Merge(memories[covering].id, memories[i].id))
                continue
            staying.append(i)
            if same:
                kept.append(memories[i].id)
    return Duplicates(tuple(merges), tuple(kept))


def covers(keeper: Memory, repeated: Memory) -> bool:
    """Whether nothing is lost when ``repeated``, which says the same, goes and ``keeper`` stays."""
    return (
        not repeated.pinned
        and all(getattr(keeper, field) == getattr(repeated, field) for field in _EQUAL)
        and frozenset(keeper.labels) == frozenset(repeated.labels)
        and _folded(repeated.tags) <= _folded(keeper.tags)
        and _folded(repeated.entities) <= _folded(keeper.entities)
        and repeated.task_type in (None, keeper.task_type)
        and (repeated.data is None or repeated.author == _REFLECTION or repeated.data == keeper.data)
        and (repeated.fact is None or keeper.fact is not None)
        and language(repeated.content) == language(keeper.content)  # its words are found by readers of that language
    )


_EQUAL: Final = ("tier", "kind", "valid_from", "valid_to", "expires_at")


def _folded(names: Sequence[str]) -> frozenset[str]:
    return frozenset(name.casefold() for name in names)


def _rank(memory: Memory) -> tuple[object, ...]:
    """The one that stays comes first: pinned, trusted, shown by more, held as true, earlier."""
    return (
        not memory.pinned,
        -memory.trust,
        memory.status != "active",
        -memory.evidence.supporting,
        -len(memory.tags) - len(memory.entities),
        memory.created_at,
        memory.id,
    )


def _same(a: Memory, b: Memory, similarity: float) -> bool:
    """Whether the two say the same, without doubt."""
    if squeezed(a.content) == squeezed(b.content) and (a.fact is None or b.fact is None or a.fact == b.fact):
        return True
    older, newer = sorted((a, b), key=lambda memory: memory.valid_from or memory.occurred_at)
    judged = judge(
        older.content,
        newer.content,
        similarity=similarity,
        fact_a=older.fact,
        fact_b=newer.fact,
        b_is_newer=True,
    )
    return judged.verdict == "duplicate" and not _says_more(Statement(a.content), Statement(b.content), similarity)


def _says_more(a: Statement, b: Statement, similarity: float) -> bool:
    """Whether one of the two may say more than the other, or something else in the same frame."""
    if a.language != b.language or a.content == b.content:
        return False
    return a.content <= b.content or b.content <= a.content or similarity < NEARLY


def _clusters(near: dict[int, dict[int, float]]) -> list[list[int]]:
    """The connected parts of the graph of what is alike."""
    left = set(near)
    found: list[list[int]] = []
    while left:
        waiting = [left.pop()]
        cluster = []
        while waiting:
            one = waiting.pop()
            cluster.append(one)
            more = left & near[one].keys()
            left -= more
            waiting += more
        found.append(cluster)
    return found
