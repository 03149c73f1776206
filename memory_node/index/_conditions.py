"""An `IndexFilter` as conditions that every engine of Qdrant's family knows. Times are seconds since 1970 as floats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from ...schemas.words import HIDDEN
from .analysis import bare, folded
from .filters import IndexFilter, Near


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field has one of these values (of an array: one of its elements)."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoneOf:
    """The field has a value that is none of these. Of an array, one such element is enough."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """The field lies between the bounds that are given."""

    field: str
    gte: float | None = None
    gt: float | None = None
    lte: float | None = None
    lt: float | None = None


@dataclass(frozen=True, slots=True)
class HasId:
    """The point is one of these. Ids are as the engine gives them."""

    ids: frozenset[Any]


@dataclass(frozen=True, slots=True)
class HasVector:
    """The point has a vector of this name."""

    name: str


Condition: TypeAlias = AnyOf | NoneOf | Between | HasId | HasVector


@dataclass(frozen=True, slots=True)
class Conditions:
    """All of ``must``, none of ``must_not`` and, if ``should`` is given, one of it."""

    must: tuple[Condition, ...] = ()
    must_not: tuple[Condition, ...] = ()
    should: tuple[Condition, ...] | None = None

    @property
    def impossible(self) -> bool:
        """Whether nothing can fulfil them: a choice among nothing."""
        return any(map(_impossible, self.must)) or (self.should is not None and all(map(_impossible, self.should)))


def _impossible(each: Condition) -> bool:
    return (isinstance(each, AnyOf) and not each.values) or (isinstance(each, HasId) and not each.ids)


SHOWN_IN: Final = "shown_in"
LIMITED_IN: Final = "limited_in"
PURGED: Final = AnyOf("status", ("purged",))

_EXACT: Final = ("tier", "kind", "task_type", "session_id", "author")
_AMONG: Final = {
    **{field: field for field in ("derived_from", "caused_by", "before")},
    "kind": "kinds",
    "speaker": "speakers",
}
"""Fields of points, and which choices of a filter are about them."""


def corpus(filter: IndexFilter) -> Conditions | None:
    """What word statistics are taken from: the filter's pools, so that scores tell nothing about other pools."""
    return None if filter.pools is None else Conditions(must=(_any("pool", filter.pools),))


def conditions(filter: IndexFilter) -> Conditions:
    """``filter`` for an engine."""
    readable = () if filter.pools is None else (_any("pool", filter.pools),)
    hidden = _any("status", sorted({"purged", *filter.statuses_hidden}))
    return Conditions((*readable, *_wanted(filter)), (hidden, *_labels(filter), *_ended(filter)), _near(filter.near))


def parts(filter: IndexFilter) -> tuple[Conditions, ...]:
    """``filter`` for an engine, as parts of which each memory fulfils one at most: sooner found than the whole.

    Any condition beside the pool is looked at for every memory of the pool, and takes the engine as long as comparing
    the vectors does. So what no status hides has its pool once more in ``shown_in`` or, if it has labels or begins or
    ends to hold at some time, in ``limited_in``: of the former, nearly all, nothing else is asked.
    """
    if filter.pools is None or filter.statuses_hidden != HIDDEN:
        return (conditions(filter),)
    wanted, near = _wanted(filter), _near(filter.near)
    return (
        Conditions((_any(SHOWN_IN, filter.pools), *wanted), should=near),
        Conditions((_any(LIMITED_IN, filter.pools), *wanted), (*_labels(filter), *_ended(filter)), near),
    )


def _wanted(filter: IndexFilter) -> tuple[Condition, ...]:
    """What a memory is to be, wherever it is."""
    must: list[Condition] = []
    if filter.ids is not None:
        must.append(HasId(frozenset(filter.ids)))
    exact = {field: getattr(filter, field) for field in _EXACT}
    must += (AnyOf(field, (value,)) for field, value in exact.items() if value is not None)
    must += (AnyOf("entity_keys", (folded(entity),)) for entity in filter.entities)
    must += (AnyOf("tag_keys", (folded(tag),)) for tag in filter.tags)
    among = {name: getattr(filter, of) for name, of in _AMONG.items()}
    must += (_any(name, values) for name, values in among.items() if values is not None)
    if filter.fact_subject is not None:
        must.append(AnyOf("fact_subject", (bare(filter.fact_subject),)))
    if filter.min_confidence is not None:
        must.append(Between("confidence", gte=filter.min_confidence))
    if (time := filter.time_range) is not None and (time.start or time.end):
        must.append(Between("occurred_at", gte=_seconds(time.start), lt=_seconds(time.end)))
    return tuple(must)


def _labels(filter: IndexFilter) -> tuple[Condition, ...]:
    """What rules a memory out by its labels."""
    return () if filter.clearance is None else (NoneOf("labels", tuple(filter.clearance)),)


def _ended(filter: IndexFilter) -> tuple[Condition, ...]:
    """What rules a memory out by the time: it does not hold yet, or no more."""
    if (at := _seconds(filter.valid_at)) is None:
        return ()
    return (*(Between(field, lte=at) for field in ("valid_to", "expires_at")), Between("valid_from", gt=at))


def _near(near: Near | None) -> tuple[Condition, ...] | None:
    if near is None:
        return None
    each: tuple[Condition, ...] = (
        HasId(frozenset(near.ids)),
        _any("linked", near.linking),
        _any("entity_keys", map(folded, near.entities)),
        _any("fact_subject", map(bare, near.subjects)),
    )
    return tuple(condition for condition in each if not _impossible(condition)) or each


def _any(field: str, values: Iterable[str]) -> AnyOf:
    return AnyOf(field, tuple(values))


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()
