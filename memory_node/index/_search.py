"""One search: both signals for every candidate, with as little Python per hit as can be.

A search is a generator that yields what it wants to know from the engine and is sent the answers, so that the engine in
this process and the one behind HTTP are asked the same::

    Batch → a list of {id: score}, one for each `Nearest`
    Size → how many points
    Read → {id: what is stored}, for those that have a memory
    Newest → {id: what is stored}, likewise, the newest first
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from ._conditions import Conditions, HasId, conditions, corpus
from ._points import DENSE, WORDS
from .analysis import SparseWeights, sparse_query
from .calibration import Calibration
from .index import Hit, IndexQuery, Stored

SEMANTIC: Final = 0.7
KEYWORD: Final = 0.3
"""How candidates are cut to the limit (the hybrid profile's weights, design §5); scoring proper comes later."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """The best ``limit`` by one vector. Word weights get the engine's idf over ``corpus``."""

    using: str
    vector: list[float] | SparseWeights
    among: Conditions | None
    limit: int
    corpus: Conditions | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Several of them at once."""

    queries: list[Nearest]


@dataclass(frozen=True, slots=True)
class Size:
    """About how many points fulfil ``among``."""

    among: Conditions | None


@dataclass(frozen=True, slots=True)
class Read:
    """The memories of these points."""

    ids: list[Any]


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest by ``occurred_at``."""

    among: Conditions
    limit: int


Step: TypeAlias = Batch | Size | Read | Newest
Scores: TypeAlias = dict[Any, float]


def searching(calibration: Calibration, query: IndexQuery) -> Generator[Step, Any, list[Hit]]:
    """See `Index.search`, and the module for how to drive it."""
    return _Search(calibration, query).hits()


class _Search:
    def __init__(self, calibration: Calibration, query: IndexQuery) -> None:
        self._calibration = calibration
        self._query = query
        self._filter = conditions(query.filter)
        self._corpus = corpus(query.filter)
        self._words = sparse_query(query.text)
        self._vector: list[float] | None = None
        if query.vector is not None:
            self._vector = calibration.apply(np.asarray(query.vector)[None, :], [query.text], "query")[0].tolist()

    def hits(self) -> Generator[Step, Any, list[Hit]]:
        if self._filter.impossible:
            return []
        if self._vector is None and not self._words:
            newest: dict[Any, Stored] = yield Newest(self._filter, self._query.limit)
            return [Hit(str(id), None, 0.0, None, stored) for id, stored in newest.items()]
        depth = max(self._query.limit, self._query.depth)
        cosines, words, best = yield from self._first(depth)
        yield from self._fill_in(cosines, words, depth)
        ranked = sorted(
            (
                (SEMANTIC * (semantic or 0.0) + KEYWORD * keyword, id, semantic, keyword)
                for id, semantic, keyword in self._signals(cosines, words, best)
            ),
            key=lambda each: -each[0],
        )[: self._query.limit]
        stored: dict[Any, Stored] = yield Read([id for _, id, _, _ in ranked])
        return [
            Hit(str(id), semantic, keyword, cosines.get(id), stored[id])
            for _, id, semantic, keyword in ranked
            if id in stored  # purged between the two calls
        ]

    def _first(self, depth: int) -> Generator[Step, Any, tuple[Scores, Scores, float]]:
        """The best by meaning, the best by words, and the score of a memory that is the best for every word."""
        queries = []
        if self._vector is not None:
            queries.append(self._dense(self._filter, depth))
        if self._words:
            queries.append(self._sparse(self._words, self._filter, depth))
            words = zip(self._words.indices, self._words.values, strict=True)
            queries += (self._sparse(SparseWeights([index], [weight]), self._corpus, 1) for index, weight in words)
        answers: list[Scores] = yield Batch(queries)
        cosines = {} if self._vector is None else answers.pop(0)
        scores = answers.pop(0) if self._words else {}
        best = yield from self._best(answers)
        return cosines, scores, best

    def _best(self, answers: Sequence[Scores]) -> Generator[Step, Any, float]:
        total: float = sum(score for answer in answers for score in answer.values())
        unknown = sum(weight for answer, weight in zip(answers, self._words.values, strict=True) if not answer)
        if not unknown:
            return total
        # A word that no memory has weighs what the rarest would: the engine's idf, ln(1 + (N - n + 0.5) / (n + 0.5)).
        size: int = yield Size(self._corpus)
        return total + unknown * math.log(1 + (size + 0.5) / 0.5)

    def _fill_in(self, cosines: Scores, words: Scores, depth: int) -> Generator[Step, Any, None]:
        """Give the hits of one list their score in the other. A list that is not full has nothing left to ask for."""
        queries, targets = [], []
        if self._vector is not None and len(cosines) == depth and (missing := words.keys() - cosines.keys()):
            queries.append(self._dense(_these(missing), len(missing)))
            targets.append(cosines)
        if self._words and len(words) == depth and (missing := cosines.keys() - words.keys()):
            queries.append(self._sparse(self._words, _these(missing), len(missing)))
            targets.append(words)
        if queries:
            answers: list[Scores] = yield Batch(queries)
            for target, answer in zip(targets, answers, strict=True):
                target.update(answer)

    def _signals(self, cosines: Scores, words: Scores, best: float) -> Iterable[tuple[Any, float | None, float]]:
        for id in cosines.keys() | words.keys():
            cosine = cosines.get(id)
            semantic = None if cosine is None else self._calibration.unit(cosine, "query")
            yield id, semantic, min(1.0, words.get(id, 0.0) / best) if best > 0 else 0.0

    def _dense(self, among: Conditions | None, limit: int) -> Nearest:
        return Nearest(DENSE, self._vector or [], among, limit)

    def _sparse(self, words: SparseWeights, among: Conditions | None, limit: int) -> Nearest:
        return Nearest(WORDS, words, among, limit, self._corpus)


def _these(ids: Set[Any]) -> Conditions:
    """The ids alone: they are hits, so they have passed the search's filter already."""
    return Conditions(must=(HasId(frozenset(ids)),))
