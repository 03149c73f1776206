"""One search of Qdrant Edge: both signals for every candidate, with as little Python per hit as can be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from typing import Any, Final

import numpy as np
from qdrant_edge import (
    CountRequest,
    Direction,
    EdgeShard,
    Filter,
    HasIdCondition,
    IdfParams,
    OrderBy,
    Query,
    QueryBatchRequest,
    QueryRequest,
    ScrollRequest,
    SearchParams,
    SparseVector,
)

from ._points import DENSE, MEMORY, WORDS, corpus, engine_filter
from .analysis import SparseWeights, sparse_query
from .calibration import Calibration
from .index import Hit, IndexQuery

SEMANTIC: Final = 0.7
KEYWORD: Final = 0.3
"""How candidates are cut to the limit (the hybrid profile's weights, design §5); scoring proper comes later."""

MAX_QUERY_TERMS: Final = 64
"""Terms of a query that count. A question has a dozen; whoever pastes a log is helped by its beginning."""


def search(shard: EdgeShard, calibration: Calibration, query: IndexQuery) -> list[Hit]:
    """See `Index.search`."""
    return _Search(shard, calibration, query).hits()


class _Search:
    def __init__(self, shard: EdgeShard, calibration: Calibration, query: IndexQuery) -> None:
        self._shard = shard
        self._calibration = calibration
        self._query = query
        self._filter = engine_filter(query.filter)
        self._corpus = corpus(query.filter)
        words = sparse_query(query.text)
        self._words = SparseWeights(words.indices[:MAX_QUERY_TERMS], words.values[:MAX_QUERY_TERMS])
        self._idf = SearchParams(idf=IdfParams(corpus=self._corpus))
        self._vector: list[float] | None = None
        if query.vector is not None:
            self._vector = calibration.apply(np.asarray(query.vector)[None, :], [query.text], "query")[0].tolist()

    def hits(self) -> list[Hit]:
        if self._vector is None and not self._words:
            return self._newest()
        depth = max(self._query.limit, self._query.depth)
        cosines, words, best = self._first(depth)
        self._fill_in(cosines, words, depth)
        ranked = sorted(
            (
                (SEMANTIC * (semantic or 0.0) + KEYWORD * keyword, id, semantic, keyword)
                for id, semantic, keyword in self._signals(cosines, words, best)
            ),
            key=lambda each: -each[0],
        )[: self._query.limit]
        stored = self._stored([id for _, id, _, _ in ranked])
        return [
            Hit(str(id), semantic, keyword, cosines.get(id), *stored[id])
            for _, id, semantic, keyword in ranked
            if id in stored  # purged between the two calls
        ]

    def _first(self, depth: int) -> tuple[dict[Any, float], dict[Any, float], float]:
        """The best by meaning, the best by words, and the score of a memory that is the best for every word."""
        requests = []
        if self._vector is not None:
            requests.append(self._dense(self._filter, depth))
        if self._words:
            requests.append(self._sparse(self._words, self._filter, depth))
            requests += (self._sparse(SparseWeights([index], [1.0]), self._corpus, 1) for index in self._words.indices)
        answers = self._shard.query_batch(QueryBatchRequest(requests))
        cosines = {} if self._vector is None else _scores(answers.pop(0))
        words = _scores(answers.pop(0)) if self._words else {}
        return cosines, words, self._best(answers)

    def _best(self, answers: list[Any]) -> float:
        known = [answer[0].score for answer in answers if answer]
        total: float = sum(known)
        unknown = len(answers) - len(known)
        if not unknown:
            return total
        # A word that no memory has weighs what the rarest would: the engine's idf, ln(1 + (N - n + 0.5) / (n + 0.5)).
        size = self._shard.count(CountRequest(exact=False, filter=self._corpus))
        return total + unknown * math.log(1 + (size + 0.5) / 0.5)

    def _fill_in(self, cosines: dict[Any, float], words: dict[Any, float], depth: int) -> None:
        """Give the hits of one list their score in the other. A list that is not full has nothing left to ask for."""
        requests, targets = [], []
        if self._vector is not None and len(cosines) == depth and (missing := words.keys() - cosines.keys()):
            requests.append(self._dense(_these(missing), len(missing)))
            targets.append(cosines)
        if self._words and len(words) == depth and (missing := cosines.keys() - words.keys()):
            requests.append(self._sparse(self._words, _these(missing), len(missing)))
            targets.append(words)
        if requests:
            for target, answer in zip(targets, self._shard.query_batch(QueryBatchRequest(requests)), strict=True):
                target.update(_scores(answer))

    def _signals(
        self, cosines: dict[Any, float], words: dict[Any, float], best: float
    ) -> Iterable[tuple[Any, float | None, float]]:
        for id in cosines.keys() | words.keys():
            cosine = cosines.get(id)
            semantic = None if cosine is None else self._calibration.unit(cosine, "query")
            yield id, semantic, min(1.0, words.get(id, 0.0) / best) if best > 0 else 0.0

    def _stored(self, ids: list[Any]) -> dict[Any, tuple[int, bytes]]:
        records = self._shard.retrieve(ids, ["seq", MEMORY], False)
        payloads = ((record.id, record.payload or {}) for record in records)
        return {id: (payload["seq"], payload[MEMORY].encode()) for id, payload in payloads if MEMORY in payload}

    def _newest(self) -> list[Hit]:
        request = ScrollRequest(
            limit=self._query.limit,
            filter=self._filter,
            with_payload=["seq", MEMORY],
            with_vector=False,
            order_by=OrderBy("occurred_at", Direction.Desc),
        )
        records, _ = self._shard.scroll(request)
        payloads = ((record.id, record.payload or {}) for record in records)
        return [
            Hit(str(id), None, 0.0, None, payload["seq"], payload[MEMORY].encode())
            for id, payload in payloads
            if MEMORY in payload
        ]

    def _dense(self, filter: Any, limit: int) -> QueryRequest:
        return _request(Query.Nearest(self._vector or [], using=DENSE), filter, limit, None)

    def _sparse(self, words: SparseWeights, filter: Any, limit: int) -> QueryRequest:
        vector = SparseVector(words.indices, words.values)
        return _request(Query.Nearest(vector, using=WORDS), filter, limit, self._idf)


def _these(ids: Set[Any]) -> Filter:
    """The ids alone: they are hits, so they have passed the search's filter already."""
    return Filter(must=[HasIdCondition(set(ids))])


def _request(query: Any, filter: Any, limit: int, params: SearchParams | None) -> QueryRequest:
    return QueryRequest(limit=limit, query=query, filter=filter, params=params, with_payload=False, with_vector=False)


def _scores(answer: list[Any]) -> dict[Any, float]:
    return {hit.id: hit.score for hit in answer}
