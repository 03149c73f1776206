"""Our points, conditions and searches in the words of Qdrant Edge."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from qdrant_edge import (
    CountRequest,
    Direction,
    EdgeShard,
    FieldCondition,
    Filter,
    FloatIndexParams,
    HasIdCondition,
    HasVectorCondition,
    IdfParams,
    IntegerIndexParams,
    KeywordIndexParams,
    MatchAny,
    MatchExcept,
    OrderBy,
    Point,
    Query,
    QueryBatchRequest,
    QueryRequest,
    RangeFloat,
    ScrollRequest,
    SearchParams,
    SparseVector,
)

from ._conditions import LIMITED_IN, SHOWN_IN, AnyOf, Between, Condition, Conditions, HasId, HasVector, NoneOf
from ._kept import Kept, Top
from ._points import DENSE, FIELDS, MEMORY, WORDS, FieldKind, PointData
from ._search import First, Missing, Nearest, Newest, Read, Scores, Size, Step, alone, searching
from .analysis import SparseWeights
from .calibration import Calibration
from .index import Hit, IndexQuery, PackedWords, Stored

_PARAMS: Final[dict[FieldKind, Callable[[], Any]]] = {
    "tenant": lambda: KeywordIndexParams(is_tenant=True),
    "keyword": KeywordIndexParams,
    "float": FloatIndexParams,
    "integer": IntegerIndexParams,
}

_SAME_OFTEN: Final = frozenset({"pool", SHOWN_IN, LIMITED_IN, "status", "labels"})
"""Fields whose conditions are the same in most searches; to make one takes 10 µs, with 200 pools 40."""

INDEXES: Final[dict[str, Any]] = {field: _PARAMS[kind]() for field, kind in FIELDS.items()}


def edge_point(point: PointData) -> Point:
    """``point`` for the engine."""
    vectors: dict[str, Any] = {}
    if point.dense is not None:
        vectors[DENSE] = point.dense
    if point.words is not None:
        vectors[WORDS] = SparseVector(point.words.indices, point.words.values)
    return Point(point.id, vectors, point.payload)


def edge_filter(conditions: Conditions | None) -> Filter | None:
    """``conditions`` for the engine."""
    if conditions is None:
        return None
    return Filter(
        must=[_condition(each) for each in conditions.must],
        must_not=[_condition(each) for each in conditions.must_not],
        should=None if conditions.should is None else [_condition(each) for each in conditions.should],
    )


def search(shard: EdgeShard, kept: Kept, calibration: Calibration, query: IndexQuery) -> list[Hit]:
    """See `Index.search`; what is ``kept`` is not read again."""
    steps = searching(calibration, query)
    engine = _Answering(shard, kept)
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as end:
            hits: list[Hit] = end.value
            return hits
        answer = engine.answer(step)


def newest(among: Conditions, limit: int, payload: list[str]) -> ScrollRequest:
    """The newest by ``occurred_at``, with these fields of their payload."""
    return ScrollRequest(
        limit=limit,
        filter=edge_filter(among),
        with_payload=payload,
        with_vector=False,
        order_by=OrderBy("occurred_at", Direction.Desc),
    )


class _Answering:
    """Answers one search. In between, ids are their numbers: to look up the engine's `UUID`s takes thrice as long."""

    def __init__(self, shard: EdgeShard, kept: Kept) -> None:
        self._shard = shard
        self._kept = kept
        self._ids: dict[int, UUID] = {}
        self._idf: dict[int, float] = {}
        self._filters: dict[int, tuple[Conditions | None, Filter | None]] = {}

    def answer(self, step: Step) -> Any:
        """See `_search`."""
        match step:
            case First(dense, words):
                return self._first(dense, words)
            case Missing():
                return self._missing(step)
            case Size(among):
                about = CountRequest(exact=False, filter=self._filter(among))
                return self._kept.points(among, lambda: self._shard.count(about))
            case Read(ids):
                return self._kept.read(ids, self._stored)
            case Newest(among, limit):
                records, _ = self._shard.scroll(newest(among, limit, ["seq", MEMORY]))
                return {record.id: version for record in records if (version := _version(record)) is not None}

    def _first(
        self, dense: Sequence[Nearest], words: Sequence[Nearest]
    ) -> tuple[list[Scores], list[Scores], list[float]]:
        lists = [self._request(query) for query in (*dense, *words)]
        if not words:
            return [self._scores(answer) for answer in self._batch(lists)], [], []
        asked = words[0]
        assert isinstance(asked.vector, SparseWeights)
        terms = asked.vector.indices
        tops, since = self._kept.tops(asked.corpus, terms)
        if unknown := [term for term in terms if term not in tops]:
            ones = replace(asked, vector=SparseWeights(unknown, [1.0] * len(unknown)))
            lists += (self._request(each, with_vector=[WORDS]) for each in alone(ones))
        answers = iter(self._batch(lists))
        cosines = [self._scores(next(answers)) for _ in dense]
        scores = [self._scores(next(answers)) for _ in words]
        if unknown:
            fresh = {term: _top(term, answer) for term, answer in zip(unknown, answers, strict=True)}
            self._kept.add_tops(asked.corpus, fresh, since)
            tops |= fresh
        self._idf = {term: top.idf for term, top in tops.items() if top is not None}
        worth = zip(terms, asked.vector.values, strict=True)
        return cosines, scores, [weight * top.score if (top := tops[term]) else 0.0 for term, weight in worth]

    def _missing(self, step: Missing) -> tuple[Scores, Scores]:
        """Worked out here, from the vectors and words that are kept: a call of the engine would take longer."""
        versions = self._kept.read((*step.dense_ids, *step.words_ids), self._stored)
        cosines: Scores = {}
        if step.first.dense:
            vectors = {id: versions[id].dense for id in step.dense_ids if id in versions}
            cosines = similarities(vectors, np.array(step.first.dense[0].vector, dtype=np.float32))
        scores: Scores = {}
        if step.first.words:
            weights = step.first.words[0].vector
            assert isinstance(weights, SparseWeights)
            asked = zip(weights.indices, weights.values, strict=True)
            worth = {term: weight * self._idf[term] for term, weight in asked if term in self._idf}
            scores = word_scores({id: versions[id].words for id in step.words_ids if id in versions}, worth)
        return cosines, scores

    def _stored(self, ids: list[int]) -> list[tuple[int, Stored]]:
        records: list[Any] = self._shard.retrieve([self._ids[id] for id in ids], ["seq", MEMORY], [DENSE, WORDS])
        return [(record.id.int, version) for record in records if (version := _version(record)) is not None]

    def _batch(self, requests: list[QueryRequest]) -> list[Any]:
        return self._shard.query_batch(QueryBatchRequest(requests))

    def _scores(self, answer: list[Any]) -> Scores:
        scores: Scores = {}
        for hit in answer:
            id = hit.id
            number = id.int
            self._ids[number] = id
            scores[number] = hit.score
        return scores

    def _request(self, nearest: Nearest, with_vector: Any = False) -> QueryRequest:
        vector, params = nearest.vector, None
        if not isinstance(vector, list):
            params = SearchParams(idf=IdfParams(corpus=self._filter(nearest.corpus)))
        query = Query.Nearest(
            vector if isinstance(vector, list) else SparseVector(vector.indices, vector.values), using=nearest.using
        )
        return QueryRequest(
            limit=nearest.limit,
            query=query,
            filter=self._filter(nearest.among),
            params=params,
            with_payload=False,
            with_vector=with_vector,
        )

    def _filter(self, among: Conditions | None) -> Filter | None:
        """Each made once: the queries of a search share two, and making one takes 0.1 ms."""
        made = self._filters.get(id(among))
        if made is None:
            made = self._filters[id(among)] = (among, edge_filter(among))  # kept with it: its id is not given again
        return made[1]


def _version(record: Any) -> Stored | None:
    payload = record.payload or {}
    if MEMORY not in payload:
        return None
    vectors = record.vector or {}
    return Stored(
        str(record.id),
        payload["seq"],
        payload[MEMORY].encode(),
        None if DENSE not in vectors else np.array(vectors[DENSE], dtype=np.float32).tobytes(),
        None if WORDS not in vectors else _packed(vectors[WORDS]),
    )


def _packed(words: SparseVector) -> PackedWords:
    terms, weights = np.array(words.indices, dtype=np.uint32), np.array(words.values, dtype=np.float32)
    return PackedWords(terms.tobytes(), weights.tobytes())


def _top(term: int, answer: list[Any]) -> Top | None:
    """What the memory that was found for ``term`` alone, with a weight of 1, says of it."""
    if not answer:
        return None
    words: SparseVector = answer[0].vector[WORDS]
    return Top(answer[0].score, answer[0].score / words.values[words.indices.index(term)])


def similarities(vectors: Mapping[Any, bytes | None], vector: NDArray[np.float32]) -> dict[Any, float]:
    """The cosine of each with ``vector``, all of unit length. What has none is left out."""
    having = {id: each for id, each in vectors.items() if each is not None}
    if not having:
        return {}
    rows = np.frombuffer(b"".join(having.values()), dtype=np.float32).reshape(len(having), -1)
    return dict(zip(having, (rows @ vector).tolist(), strict=True))


def word_scores(words: Mapping[Any, PackedWords | None], worth: Mapping[int, float]) -> dict[Any, float]:
    """The engine's score of each for a query: over its words, the query's weight times idf times the memory's weight.

    ``worth`` is the former two. What has none of the words is left out.
    """
    having = {id: each for id, each in words.items() if each is not None}
    if not having or not worth:
        return {}
    asked, factors = np.array(list(worth), dtype=np.uint32), np.array(list(worth.values()))
    terms = np.frombuffer(b"".join([each.terms for each in having.values()]), dtype=np.uint32)
    weights = np.frombuffer(b"".join([each.weights for each in having.values()]), dtype=np.float32)
    ends = np.cumsum([len(each.terms) // terms.itemsize for each in having.values()])
    found, which = np.nonzero(terms[:, None] == asked)
    owners = np.searchsorted(ends, found, side="right")
    sums = np.bincount(owners, weights=factors[which] * weights[found], minlength=len(having)).tolist()
    return {id: score for id, score in zip(having, sums, strict=True) if score > 0}


def _condition(condition: Condition) -> Any:
    return _made_once(condition) if getattr(condition, "field", None) in _SAME_OFTEN else _made(condition)


@functools.lru_cache(maxsize=64)
def _made_once(condition: Condition) -> Any:
    return _made(condition)


def _made(condition: Condition) -> Any:
    match condition:
        case AnyOf(field, values):
            return FieldCondition(field, match=MatchAny(list(values)))
        case NoneOf(field, values):
            return FieldCondition(field, match=MatchExcept(list(values)))
        case Between(field):
            bounds = RangeFloat(gte=condition.gte, gt=condition.gt, lte=condition.lte, lt=condition.lt)
            return FieldCondition(field, range=bounds)
        case HasId(ids):
            return HasIdCondition(set(ids))
        case HasVector(name):
            return HasVectorCondition(name)
