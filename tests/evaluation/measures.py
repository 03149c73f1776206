"""Measures of a ranking: recall at k, mean reciprocal rank, and normalised discounted cumulative gain.

What answers a question is given in groups. Of a group any one memory suffices; of every group one is needed. Where each
group is one memory these are the usual measures, else those of subtopics (Zhai, Cohen and Lafferty 2003; Clarke 2008).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Evidence = tuple[frozenset[str], ...]
"""Ids in groups: one of each is needed."""
Judged = tuple[Sequence[str], Evidence]
"""A ranking of ids, best first, and what answers."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Means over questions, each 0…1."""

    questions: int
    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    mrr: float
    ndcg_at_10: float


def all_of(ids: Iterable[str]) -> Evidence:
    """Each of ``ids`` is needed."""
    return tuple(frozenset((id,)) for id in ids)


def scores(judged: Iterable[Judged]) -> Scores:
    """Recall at k is the share of the groups met among the first k; MRR is 1 / rank of the first id of any group."""
    cases = list(judged)
    count = max(len(cases), 1)

    def mean(values: Iterable[float]) -> float:
        return sum(values) / count

    return Scores(
        questions=len(cases),
        recall_at_1=mean(recall(ranking, evidence, 1) for ranking, evidence in cases),
        recall_at_5=mean(recall(ranking, evidence, 5) for ranking, evidence in cases),
        recall_at_10=mean(recall(ranking, evidence, 10) for ranking, evidence in cases),
        mrr=mean(reciprocal_rank(ranking, evidence) for ranking, evidence in cases),
        ndcg_at_10=mean(ndcg(ranking, evidence, 10) for ranking, evidence in cases),
    )


def recall(ranking: Sequence[str], evidence: Evidence, k: int) -> float:
    """The share of the groups of which one is among the first ``k``."""
    return sum(_met(ranking[:k], evidence)) / len(evidence)


def reciprocal_rank(ranking: Sequence[str], evidence: Evidence) -> float:
    """1 / rank of the first id of any group, 0 if there is none."""
    return next((1 / rank for rank, met in enumerate(_met(ranking, evidence), start=1) if met), 0.0)


def ndcg(ranking: Sequence[str], evidence: Evidence, k: int) -> float:
    """Gain of 1 where a group is first met, discounted by log2(rank + 1), against the best order (Järvelin 2002)."""
    return _gained(_met(ranking[:k], evidence)) / _gained(_met(_best(evidence)[:k], evidence))


def _met(ranking: Iterable[str], evidence: Evidence) -> Iterator[int]:
    """How many groups are met for the first time, at each rank."""
    missing = list(evidence)
    for id in ranking:
        still = [group for group in missing if id not in group]
        yield len(missing) - len(still)
        missing = still


def _gained(met: Iterable[int]) -> float:
    return sum(groups / math.log2(rank + 1) for rank, groups in enumerate(met, start=1))


def _best(evidence: Evidence) -> list[str]:
    """Always the id that meets most of the groups that are left."""
    best: list[str] = []
    missing = list(evidence)
    while missing:
        best.append(max(sorted(frozenset().union(*missing)), key=lambda id: sum(id in group for group in missing)))
        missing = [group for group in missing if best[-1] not in group]
    return best
