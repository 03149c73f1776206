"""Our points, conditions and searches in the words of a Qdrant server's client. Needs the extra ``server``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from qdrant_client import models

from ._conditions import AnyOf, Between, Condition, Conditions, HasId, HasVector, NoneOf
from ._points import DENSE, MEMORY, WORDS, FieldKind, PointData
from ._search import Nearest
from .analysis import SparseWeights

VECTORS_DISTANCE: Final = models.Distance.DOT

FIELD_SCHEMAS: Final[dict[FieldKind, Any]] = {
    "tenant": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
    "keyword": models.PayloadSchemaType.KEYWORD,
    "float": models.PayloadSchemaType.FLOAT,
    "integer": models.PayloadSchemaType.INTEGER,
}


def rest_point(point: PointData) -> models.PointStruct:
    """``point`` for the server. Not validated: checking 400 floats of ours one by one costs more than the rest."""
    vectors: dict[str, Any] = {}
    if point.dense is not None:
        vectors[DENSE] = point.dense
    if point.words is not None:
        vectors[WORDS] = models.SparseVector.model_construct(indices=point.words.indices, values=point.words.values)
    return models.PointStruct.model_construct(id=point.id, vector=vectors, payload=point.payload)


def point_of(record: models.Record) -> PointData:
    """A point as the server holds it, with its vectors and all of its payload."""
    vectors: Any = record.vector or {}
    payload = record.payload or {}
    words = vectors.get(WORDS)
    weights = None if words is None else SparseWeights(words.indices, words.values)
    return PointData(str(record.id), payload["seq"], vectors.get(DENSE), weights, payload)


def stored(records: Sequence[models.Record]) -> list[tuple[Any, int, bytes]]:
    """Id, sequence and memory of those that have one."""
    payloads = ((record.id, record.payload or {}) for record in records)
    return [(id, payload["seq"], payload[MEMORY].encode()) for id, payload in payloads if MEMORY in payload]


def upsert(points: Sequence[PointData], *, below: int) -> models.UpsertOperation:
    """Insert those of ``points`` that are not there, replace those whose version is older than ``below``."""
    older = models.Filter(must=[models.FieldCondition(key="seq", range=models.Range(lt=below))])
    listed = models.PointsList.model_construct(points=[rest_point(point) for point in points], update_filter=older)
    return models.UpsertOperation.model_construct(upsert=listed)


def rest_filter(conditions: Conditions | None) -> models.Filter | None:
    """``conditions`` for the server."""
    if conditions is None:
        return None
    return models.Filter(
        must=[_condition(each) for each in conditions.must],
        must_not=[_condition(each) for each in conditions.must_not],
        should=None if conditions.should is None else [_condition(each) for each in conditions.should],
    )


def rest_query(nearest: Nearest) -> models.QueryRequest:
    """``nearest`` for the server, which answers with ids and scores."""
    vector, params = nearest.vector, None
    query: Any = vector
    if not isinstance(vector, list):
        query = models.SparseVector(indices=vector.indices, values=vector.values)
        if (corpus := rest_filter(nearest.corpus)) is not None:
            params = models.SearchParams(idf=models.IdfCorpusParams(corpus=corpus))
    return models.QueryRequest(
        query=models.NearestQuery(nearest=query),
        using=nearest.using,
        filter=rest_filter(nearest.among),
        params=params,
        limit=nearest.limit,
        with_payload=False,
        with_vector=False,
    )


def _condition(condition: Condition) -> models.Condition:
    match condition:
        case AnyOf(field, values):
            return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))
        case NoneOf(field, values):
            return models.FieldCondition(key=field, match=models.MatchExcept(**{"except": list(values)}))
        case Between(field):
            bounds = models.Range(gte=condition.gte, gt=condition.gt, lte=condition.lte, lt=condition.lt)
            return models.FieldCondition(key=field, range=bounds)
        case HasId(ids):
            return models.HasIdCondition(has_id=list(ids))
        case HasVector(name):
            return models.HasVectorCondition(has_vector=name)
