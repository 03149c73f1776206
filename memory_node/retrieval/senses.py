"""Namesakes: which of the memories that hold one name mean the same thing by it.

The rule, in the order in which it is applied:

1. The words beside the name say what kind of thing it is there (`kind_of`): somebody, somewhere, something, or a body
   that acts. Somebody is never somewhere or something, and a body that acts is none of somebody and something.
2. A mention that does not say its kind belongs where its context is most alike: by the vectors of the memories, and by
   what else they name.
3. What is of one kind, or of none that is said, is taken apart where its contexts fall into two: at least three
   memories on each side, much more alike within than between, and nothing else that both sides name. Three are few
   enough for two people of one name, and enough not to take one person apart whose life has more than one side.

Where nothing speaks for two, it is one: a name that is taken apart by mistake hides what is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...schemas import Memory
from ..index import Calibration, Index, bare
from .naming import NameKind, kind_of, names_of

_APART: Final[frozenset[frozenset[NameKind]]] = frozenset(
    frozenset(pair)
    for pair in (
        ("person", "place"), ("person", "thing"), ("person", "organisation"), ("place", "thing"),
        ("organisation", "thing"), ("named", "thing"),
    )
)  # fmt: skip
_SHARED_NAME: Final = 0.2
"""What naming a further thing in common adds to the likeness (0…1) of two contexts."""
_FEWEST: Final = 3
_GAP: Final = 0.15
_WORD_GAP: Final = 0.05


@dataclass(frozen=True, slots=True)
class Mention:
    """One memory that holds the name: its text, what else it names, and its calibrated unit vector."""

    text: str
    beside: frozenset[str]
    vector: NDArray[np.float32] | None


Alike: TypeAlias = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""The likeness (0…1) of vectors each with each, as `Calibration.alike`."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A name, as it is compared, and which of the things of this name is meant."""

    name: str
    which: int


async def meant_by(
    index: Index, calibration: Calibration, memories: Sequence[Memory], names: Mapping[str, str]
) -> dict[str, frozenset[Meaning]]:
    """What each of ``memories`` means by those of ``names`` (as compared → as written) that it holds, by its id.

    Raises:
        Unavailable: the index is away.
    """
    held = {memory.id: names_of(memory).keys() for memory in memories}
    holding = [memory for memory in memories if held[memory.id] & names.keys()]
    vectors = await index.vectors([memory.id for memory in holding]) if holding else {}
    meant: dict[str, set[Meaning]] = {memory.id: set() for memory in memories}
    for name, form in names.items():
        those = [memory for memory in holding if name in held[memory.id]]
        for which, group in enumerate(_groups(form, those, held, vectors, calibration)):
            for memory in group:
                meant[memory.id].add(Meaning(name, which))
    return {id: frozenset(meanings) for id, meanings in meant.items()}


async def told_apart(
    index: Index, calibration: Calibration, name: str, memories: Sequence[Memory]
) -> list[list[Memory]]:
    """``memories``, all of which hold ``name``, in groups that mean the same by it, largest first.

    Raises:
        Unavailable: the index is away.
    """
    held = {memory.id: names_of(memory).keys() for memory in memories}
    return _groups(name, memories, held, await index.vectors([memory.id for memory in memories]), calibration)


def _groups(
    name: str,
    memories: Sequence[Memory],
    held: Mapping[str, AbstractSet[str]],
    vectors: Mapping[str, NDArray[np.float32]],
    calibration: Calibration,
) -> list[list[Memory]]:
    key = bare(name)
    mentions = [Mention(m.content, frozenset(held[m.id] - {key}), vectors.get(m.id)) for m in memories]
    return [[memories[i] for i in group] for group in senses(name, mentions, calibration.alike)]


def senses(name: str, mentions: Sequence[Mention], alike_of: Alike) -> list[list[int]]:
    """The mentions in groups of one meaning, largest first, each by their places in ``mentions``."""
    if len(mentions) < 2 or _is_code(name):
        return [list(range(len(mentions)))] if mentions else []
    alike = _likeness(mentions, alike_of)
    kinds = _kinds(name, mentions, alike)
    groups = [part for group in _by_kind(kinds, alike) for part in _halves(group, mentions, alike)]
    return sorted(groups, key=lambda group: (-len(group), group))


def _kinds(name: str, mentions: Sequence[Mention], alike: NDArray[np.float32]) -> list[NameKind | None]:
    """What each says; a capital letter alone says nothing where the contexts do not bear it out (Nginx is nginx)."""
    kinds = [kind_of(name, mention.text) for mention in mentions]
    named, word = (np.array([kind == which for kind in kinds]) for which in ("named", "thing"))
    if named.any() and word.any() and _gap(alike, named, word) < _WORD_GAP:
        return [None if kind == "named" else kind for kind in kinds]
    return kinds


def _by_kind(kinds: Sequence[NameKind | None], alike: NDArray[np.float32]) -> list[list[int]]:
    groups: list[tuple[set[NameKind], list[int]]] = []
    for i, kind in enumerate(kinds):
        if kind is None:
            continue
        fitting = [group for group in groups if not any(frozenset((kind, other)) in _APART for other in group[0])]
        if fitting:
            known, members = max(fitting, key=lambda group: (kind in group[0], len(group[1])))
            known.add(kind)
            members.append(i)
        else:
            groups.append(({kind}, [i]))
    if not groups:
        return [list(range(len(kinds)))]
    parts = [members for _, members in groups]
    left = {i for i, kind in enumerate(kinds) if kind is None}
    while left:  # the surest first, so that it helps to place the others
        _, i, part = max((_nearness(alike, i, part), -i, g) for i in left for g, part in enumerate(parts))
        parts[part].append(-i)
        left.discard(-i)
    return [sorted(part) for part in parts]


def _nearness(alike: NDArray[np.float32], i: int, part: Sequence[int]) -> float:
    return float(np.sort(alike[i, part])[-2:].mean())


def _halves(group: list[int], mentions: Sequence[Mention], alike: NDArray[np.float32]) -> list[list[int]]:
    """The group, or its two halves if they are far from each other: by the sign of the first axis of their likeness."""
    if len(group) < 2 * _FEWEST:
        return [group]
    inner = alike[np.ix_(group, group)]
    centred = inner - inner.mean(axis=0) - inner.mean(axis=1)[:, None] + inner.mean()
    _, axes = np.linalg.eigh(centred)
    side = axes[:, -1] > 0
    for _ in range(len(group)):  # each goes where it is more alike, until nobody moves
        if side.all() or not side.any():
            return [group]
        nearer = np.array([_mean_but(inner, i, side) > _mean_but(inner, i, ~side) for i in range(len(group))])
        if (nearer == side).all():
            break
        side = nearer
    if min(int(side.sum()), int((~side).sum())) < _FEWEST:
        return [group]
    if _gap(inner, side, ~side) < _GAP:
        return [group]
    chosen = np.array(group)
    halves = [chosen[side].tolist(), chosen[~side].tolist()]
    one, other = (frozenset[str]().union(*(mentions[i].beside for i in half)) for half in halves)
    return [group] if one & other else halves


def _mean_but(inner: NDArray[np.float32], i: int, side: NDArray[np.bool_]) -> float:
    others = side.copy()
    others[i] = False
    return float(inner[i, others].mean()) if others.any() else 0.0


def _gap(alike: NDArray[np.float32], one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """How much more alike they are within each side than between the two."""
    within = [_within(alike, side) for side in (one, other) if side.sum() > 1]
    between = float(alike[np.ix_(one, other)].mean())
    return sum(within) / len(within) - between if within else 1.0 - between


def _within(inner: NDArray[np.float32], side: NDArray[np.bool_]) -> float:
    part = inner[np.ix_(side, side)]
    count = len(part)
    return float((part.sum() - np.trace(part)) / (count * (count - 1)))


def _likeness(mentions: Sequence[Mention], alike_of: Alike) -> NDArray[np.float32]:
    alike = np.zeros((len(mentions), len(mentions)), dtype=np.float32)
    having = [(i, mention.vector) for i, mention in enumerate(mentions) if mention.vector is not None]
    if having:
        places = [i for i, _ in having]
        alike[np.ix_(places, places)] = alike_of(np.stack([vector for _, vector in having]))
    holding: dict[str, list[int]] = {}
    for i, mention in enumerate(mentions):
        for other in mention.beside:
            holding.setdefault(other, []).append(i)
    together = np.zeros(alike.shape, dtype=np.bool_)
    for places in holding.values():
        together[np.ix_(places, places)] = True
    alike[together] += _SHARED_NAME
    np.fill_diagonal(alike, 1.0)
    return np.minimum(alike, 1.0)


_CODE: Final = re.compile(r"\d")


def _is_code(name: str) -> bool:
    """A code names one thing, wherever it stands."""
    return _CODE.search(name) is not None
