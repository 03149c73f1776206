"""A log entry as a point of Qdrant Edge, an `IndexFilter` as its filter. Times are seconds since 1970 as floats."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec
from qdrant_edge import (
    FieldCondition,
    Filter,
    FloatIndexParams,
    HasIdCondition,
    IntegerIndexParams,
    KeywordIndexParams,
    MatchAny,
    MatchExcept,
    MatchValue,
    Point,
    RangeFloat,
    SparseVector,
)

from afterwit.schemas import LogEntry, Memory

from .analysis import folded, sparse_document
from .filters import IndexFilter
from .recipe import words_text

DENSE: Final = "dense"
WORDS: Final = "words"
MEMORY: Final = "memory"

INDEXES: Final[dict[str, Any]] = {
    "pool": KeywordIndexParams(is_tenant=True),
    **{field: KeywordIndexParams() for field in ("tier", "kind", "status", "session_id", "task_type", "author")},
    **{
        field: KeywordIndexParams()
        for field in ("entities", "entity_keys", "tags", "tag_keys", "labels", "derived_from")
    },
    **{field: FloatIndexParams() for field in ("occurred_at", "expires_at", "valid_from", "valid_to", "confidence")},
    "confidence_percent": IntegerIndexParams(),
}
"""Payload fields that are filtered, ordered or counted by. Entities and tags stand as given (for facets) and folded."""

_ENCODER: Final = msgspec.json.Encoder()
_PURGED: Final = FieldCondition("status", match=MatchValue("purged"))


def point(entry: LogEntry, vector: list[float] | None) -> Point:
    """The point of an entry; a purged memory's keeps nothing of it."""
    memory = entry.memory
    if memory.status == "purged":
        return Point(memory.id, {}, {"pool": memory.pool, "status": "purged", "seq": memory.seq})
    words = sparse_document(words_text(memory))
    vectors: dict[str, Any] = {}
    if vector is not None:
        vectors[DENSE] = vector
    if words:
        vectors[WORDS] = SparseVector(words.indices, words.values)
    return Point(memory.id, vectors, _payload(memory))


def _payload(memory: Memory) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "pool": memory.pool,
        "tier": memory.tier,
        "kind": memory.kind,
        "author": memory.author,
        "status": memory.status,
        "occurred_at": memory.occurred_at.timestamp(),
        "confidence": memory.confidence,
        "confidence_percent": round(memory.confidence * 100),
        "seq": memory.seq,
        MEMORY: _ENCODER.encode(memory).decode(),
    }
    for field in ("session_id", "task_type"):
        if (value := getattr(memory, field)) is not None:
            payload[field] = value
    for field in ("expires_at", "valid_from", "valid_to"):
        if (time := getattr(memory, field)) is not None:
            payload[field] = time.timestamp()
    if memory.entities:
        payload["entities"] = list(memory.entities)
        payload["entity_keys"] = [folded(entity) for entity in memory.entities]
    if memory.tags:
        payload["tags"] = list(memory.tags)
        payload["tag_keys"] = [folded(tag) for tag in memory.tags]
    if memory.labels:
        payload["labels"] = list(memory.labels)
    if origins := [link.target for link in memory.links if link.rel == "derived_from"]:
        payload["derived_from"] = origins
    return payload


def corpus(filter: IndexFilter) -> Filter | None:
    """What word statistics are taken from: the filter's pools, so that scores tell nothing about other pools."""
    return None if filter.pools is None else Filter(must=[_any("pool", filter.pools)])


def engine_filter(filter: IndexFilter) -> Filter:
    """``filter`` for the engine."""
    must: list[Any] = []
    must_not: list[Any] = [_PURGED]
    if filter.pools is not None:
        must.append(_any("pool", filter.pools))
    if filter.ids is not None:
        must.append(HasIdCondition(set(filter.ids)))
    exact = {field: getattr(filter, field) for field in ("tier", "kind", "task_type", "session_id", "author")}
    must += (FieldCondition(field, match=MatchValue(value)) for field, value in exact.items() if value is not None)
    must += (FieldCondition("entity_keys", match=MatchValue(folded(entity))) for entity in filter.entities)
    must += (FieldCondition("tag_keys", match=MatchValue(folded(tag))) for tag in filter.tags)
    if filter.derived_from is not None:
        must.append(_any("derived_from", filter.derived_from))
    if filter.min_confidence is not None:
        must.append(FieldCondition("confidence", range=RangeFloat(gte=filter.min_confidence)))
    if (time := filter.time_range) is not None and (time.start or time.end):
        must.append(FieldCondition("occurred_at", range=RangeFloat(gte=_seconds(time.start), lt=_seconds(time.end))))
    if filter.statuses_hidden:
        must_not.append(_any("status", sorted(filter.statuses_hidden)))
    if filter.clearance is not None:
        # Of an array, "except" is true as soon as one element is none of these.
        must_not.append(FieldCondition("labels", match=MatchExcept(list(filter.clearance))))
    if (at := _seconds(filter.valid_at)) is not None:
        must_not += (FieldCondition(field, range=RangeFloat(lte=at)) for field in ("valid_to", "expires_at"))
        must_not.append(FieldCondition("valid_from", range=RangeFloat(gt=at)))
    return Filter(must=must, must_not=must_not)


def _any(field: str, values: Iterable[str]) -> FieldCondition:
    return FieldCondition(field, match=MatchAny(list(values)))


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()
