"""A search without an engine: by words alone, among entries of the log that are at hand. For when the index is away."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...schemas import LogEntry
from ._conditions import AnyOf, Between, Condition, Conditions, HasId, NoneOf, conditions
from ._points import MEMORY, latest, point
from .analysis import terms
from .index import Hit, IndexQuery, Stored
from .recipe import words_text


def search_entries(entries: Iterable[LogEntry], query: IndexQuery) -> list[Hit]:
    """As `Index.search`, over ``entries``: the share of the query's terms that a memory has is its ``keyword``."""
    wanted = frozenset(terms(query.text))
    where = conditions(query.filter)
    hits: list[Hit] = []
    for entry in latest(entries).values():
        keyword = _share(wanted, words_text(entry.memory)) if wanted else 0.0
        if wanted and not keyword:
            continue
        made = point(entry, None)
        if not fulfils(where, made.id, made.payload):
            continue
        stored = Stored(made.id, made.seq, made.payload[MEMORY].encode())
        hits.append(Hit(id=made.id, semantic=None, keyword=keyword, cosine=None, stored=stored))
    return sorted(hits, key=lambda hit: (-hit.keyword, -hit.stored.seq))[: query.limit]


def _share(wanted: frozenset[str], text: str) -> float:
    return len(wanted.intersection(terms(text))) / len(wanted)


def fulfils(where: Conditions, id: str, payload: dict[str, Any]) -> bool:
    """Whether a point fulfils ``where``."""
    return (
        all(_holds(each, id, payload) for each in where.must)
        and not any(_holds(each, id, payload) for each in where.must_not)
        and (where.should is None or any(_holds(each, id, payload) for each in where.should))
    )


def _holds(condition: Condition, id: str, payload: dict[str, Any]) -> bool:
    match condition:
        case AnyOf(field, values):
            return any(value in values for value in _values(payload, field))
        case NoneOf(field, values):
            return any(value not in values for value in _values(payload, field))
        case Between(field):
            return any(_within(condition, value) for value in _values(payload, field))
        case HasId(ids):
            return id in ids
        case _:  # there are no vectors here
            return False


def _values(payload: dict[str, Any], field: str) -> list[Any]:
    value = payload.get(field)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _within(bounds: Between, value: float) -> bool:
    return not (
        (bounds.gte is not None and value < bounds.gte)
        or (bounds.gt is not None and value <= bounds.gt)
        or (bounds.lte is not None and value > bounds.lte)
        or (bounds.lt is not None and value >= bounds.lt)
    )
