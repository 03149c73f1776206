"""Recall by groups: of each group one is enough, of every group one is needed."""

from __future__ import annotations

import math

import pytest

from tests.evaluation.measures import Evidence, all_of, ndcg, recall, reciprocal_rank, scores

EITHER_AND: Evidence = (frozenset("ab"), frozenset("c"))
RANKING = ["x", "b", "a", "y", "c"]


@pytest.mark.parametrize(("k", "expected"), [(1, 0.0), (2, 0.5), (3, 0.5), (4, 0.5), (5, 1.0)])
def test_a_second_of_a_group_adds_nothing_and_each_group_counts_the_same(k: int, expected: float) -> None:
    assert recall(RANKING, EITHER_AND, k) == expected


def test_one_memory_can_stand_for_several_groups() -> None:
    assert recall(["b"], (frozenset("ab"), frozenset("bc")), 1) == 1.0


def test_without_alternatives_it_is_the_share_of_what_is_needed() -> None:
    assert recall(RANKING, all_of("abcd"), 5) == 0.75


def test_the_first_of_any_group_counts_for_the_reciprocal_rank() -> None:
    assert reciprocal_rank(RANKING, EITHER_AND) == 0.5
    assert reciprocal_rank(["x"], EITHER_AND) == 0.0


def test_gain_is_for_the_first_of_a_group_only() -> None:
    found = 1 / math.log2(3) + 1 / math.log2(6)
    assert ndcg(RANKING, EITHER_AND, 10) == pytest.approx(found / (1 + 1 / math.log2(3)))
    assert ndcg(["a", "b", "c"], EITHER_AND, 10) < ndcg(["a", "c", "b"], EITHER_AND, 10) == 1.0


def test_the_best_order_begins_with_what_meets_most_groups() -> None:
    several: Evidence = (frozenset("ab"), frozenset("bc"), frozenset("d"))
    assert ndcg(["b", "d"], several, 10) == 1.0
    assert 0 < ndcg(["a", "c", "d"], several, 10) < 1


def test_scores_are_means_over_questions() -> None:
    result = scores([(RANKING, EITHER_AND), (["c"], EITHER_AND)])
    assert (result.questions, result.recall_at_1, result.recall_at_5) == (2, 0.25, 0.75)
    assert result.mrr == 0.75
