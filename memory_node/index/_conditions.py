"""An `IndexFilter` as conditions that every engine of Qdrant's family knows. Times are seconds since 1970 as floats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

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
    must: list[Condition] = []
    must_not: list[Condition] = [_any("status", sorted({"purged", *filter.statuses_hidden}))]
    if filter.pools is not None:
        must.append(_any("pool", filter.pools))
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
    if filter.clearance is not None:
        must_not.append(NoneOf("labels", tuple(filter.clearance)))
    if (at := _seconds(filter.valid_at)) is not None:
        must_not += (Between(field, lte=at) for field in ("valid_to", "expires_at"))
        must_not.append(Between("valid_from", gt=at))
    return Conditions(tuple(must), tuple(must_not), None if filter.near is None else _near(filter.near))


def _near(near: Near) -> tuple[Condition, ...]:
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
