"""One search: both signals for every candidate, with as little Python per hit as can be.

A search is a generator that yields what it wants to know from the engine and is sent the answers, so that the engine in
this process and the one behind HTTP are asked the same::

    First → {id: score} by meaning of each part of the filter, {id: score} by words likewise, and for each word the best
        score of any memory for it alone
    Missing → {id: score} by meaning, {id: score} by words
    Size → how many points
    Read → {id: what is stored}, for those that have a memory
    Newest → {id: what is stored}, likewise, the newest first
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence, Set
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Final, TypeAlias

import numpy as np

from ._conditions import Conditions, HasId, conditions, corpus, parts
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
class First:
    """The best by meaning and the best by words, if they are given, at once; each asked of each part of the filter.

    With words, what each of them is worth at best comes too, in the whole corpus; 0 is of a word that no memory has.
    """

    dense: tuple[Nearest, ...]
    words: tuple[Nearest, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """Of what one list of ``first`` brought, the scores that are missing in the other."""

    first: First
    dense_ids: Set[Any]
    words_ids: Set[Any]

    @property
    def dense(self) -> Nearest | None:
        """The question for similarities, if any is missing."""
        return _among(self.first.dense, self.dense_ids)

    @property
    def words(self) -> Nearest | None:
        """The question for the scores of words, likewise."""
        return _among(self.first.words, self.words_ids)


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


Step: TypeAlias = First | Missing | Size | Read | Newest
Scores: TypeAlias = dict[Any, float]


def alone(words: Nearest) -> list[Nearest]:
    """A question for each of the words: which memory of the whole corpus it is worth most in."""
    assert isinstance(words.vector, SparseWeights)
    each = zip(words.vector.indices, words.vector.values, strict=True)
    return [
        replace(words, vector=SparseWeights([term], [weight]), among=words.corpus, limit=1) for term, weight in each
    ]


def searching(calibration: Calibration, query: IndexQuery) -> Generator[Step, Any, list[Hit]]:
    """See `Index.search`, and the module for how to drive it."""
    return _Search(calibration, query).hits()


class _Search:
    def __init__(self, calibration: Calibration, query: IndexQuery) -> None:
        self._calibration = calibration
        self._query = query
        self._filter = conditions(query.filter)
        self._parts = parts(query.filter)
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
            return [Hit(version.id, None, 0.0, None, version) for version in newest.values()]
        cosines, words, best = yield from self._scores()
        ranked = self._ranked(cosines, words, best)
        stored: dict[Any, Stored] = yield Read([id for id, _, _ in ranked])
        return [
            Hit(version.id, semantic, keyword, cosines.get(id), version)
            for id, semantic, keyword in ranked
            if (version := stored.get(id)) is not None  # else it was purged between the two calls
        ]

    def _scores(self) -> Generator[Step, Any, tuple[Scores, Scores, float]]:
        """The best by meaning, the best by words, and the score of a memory that is the best for every word."""
        depth = max(self._query.limit, self._query.depth)
        vector, asked = self._vector, self._words
        first = First(
            () if vector is None else tuple(Nearest(DENSE, vector, part, depth) for part in self._parts),
            tuple(Nearest(WORDS, asked, part, depth, self._corpus) for part in self._parts) if asked else (),
        )
        by_meaning, by_words, tops = yield first
        cosines, words = _best(by_meaning, depth), _best(by_words, depth)
        best: float = sum(tops)
        if unknown := sum(weight for top, weight in zip(tops, self._words.values, strict=True) if not top):
            # A word that no memory has weighs what the rarest would: the engine's idf, ln(1 + (N - n + .5) / (n + .5)).
            size: int = yield Size(self._corpus)
            best += unknown * math.log(1 + (size + 0.5) / 0.5)
        # Give the hits of one list their score in the other. A list that is not full has nothing left to ask for.
        dense_ids = words.keys() - cosines.keys() if first.dense and len(cosines) == depth else frozenset()
        words_ids = cosines.keys() - words.keys() if first.words and len(words) == depth else frozenset()
        if dense_ids or words_ids:
            more_cosines, more_words = yield Missing(first, dense_ids, words_ids)
            cosines.update(more_cosines)
            words.update(more_words)
        return cosines, words, best

    def _ranked(self, cosines: Scores, words: Scores, best: float) -> list[tuple[Any, float | None, float]]:
        """The best candidates, each with its two signals."""
        ids = list(cosines.keys() | words.keys())
        semantic = self._calibration.units(np.array([cosines.get(id, math.nan) for id in ids]), "query")
        keyword = np.zeros(len(ids))
        if best > 0:
            keyword = np.minimum(1.0, np.array([words.get(id, 0.0) for id in ids]) / best)
        order = np.argsort(-(SEMANTIC * np.nan_to_num(semantic) + KEYWORD * keyword), kind="stable")
        meant, said = semantic.tolist(), keyword.tolist()
        first = [(i, ids[i]) for i in order[: self._query.limit].tolist()]
        return [(id, meant[i] if id in cosines else None, said[i]) for i, id in first]


def _best(of_parts: Sequence[Scores], limit: int) -> Scores:
    """The best of all parts."""
    found = [scores for scores in of_parts if scores]
    if len(found) < 2:
        return found[0] if found else {}
    together = [pair for scores in found for pair in scores.items()]
    return dict(sorted(together, key=itemgetter(1), reverse=True)[:limit])


def _among(asked: Sequence[Nearest], ids: Set[Any]) -> Nearest | None:
    """The ids alone: they are hits, so they have passed the search's filter already."""
    if not asked or not ids:
        return None
    return replace(asked[0], among=Conditions(must=(HasId(frozenset(ids)),)), limit=len(ids))
