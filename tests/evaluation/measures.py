"""Measures of a ranking: recall at k, mean reciprocal rank, and normalised discounted cumulative gain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Judged = tuple[Sequence[str], frozenset[str]]
"""A ranking of ids, best first, and the relevant ones."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Means over questions, each 0…1."""

    questions: int
    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    mrr: float
    ndcg_at_10: float


def scores(judged: Iterable[Judged]) -> Scores:
    """Recall at k is the fraction of the relevant ids among the first k; MRR is 1 / rank of the first relevant one."""
    cases = list(judged)
    count = max(len(cases), 1)

    def mean(values: Iterable[float]) -> float:
        return sum(values) / count

    return Scores(
        questions=len(cases),
        recall_at_1=mean(recall(ranking, relevant, 1) for ranking, relevant in cases),
        recall_at_5=mean(recall(ranking, relevant, 5) for ranking, relevant in cases),
        recall_at_10=mean(recall(ranking, relevant, 10) for ranking, relevant in cases),
        mrr=mean(reciprocal_rank(ranking, relevant) for ranking, relevant in cases),
        ndcg_at_10=mean(ndcg(ranking, relevant, 10) for ranking, relevant in cases),
    )


def recall(ranking: Sequence[str], relevant: frozenset[str], k: int) -> float:
    """The fraction of ``relevant`` among the first ``k``."""
    return len(relevant & set(ranking[:k])) / len(relevant)


def reciprocal_rank(ranking: Sequence[str], relevant: frozenset[str]) -> float:
    """1 / rank of the first relevant id, 0 if there is none."""
    return next((1 / rank for rank, id in enumerate(ranking, start=1) if id in relevant), 0.0)


def ndcg(ranking: Sequence[str], relevant: frozenset[str], k: int) -> float:
    """Gain of 1 for each relevant id, discounted by log2(rank + 1), against the best order (Järvelin 2002)."""
    gained = sum(1 / math.log2(rank + 1) for rank, id in enumerate(ranking[:k], start=1) if id in relevant)
    return gained / sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1))
