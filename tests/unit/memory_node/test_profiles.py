"""From signals to a score."""

from __future__ import annotations

from datetime import timedelta

import pytest

from afterwit.memory_node.index import Hit
from afterwit.memory_node.retrieval import PROFILES, profile_named
from afterwit.schemas import Invalid
from afterwit.schemas.codec import encode
from tests.samples import NOON, memory


def hit(*, semantic: float | None = 0.5, keyword: float = 0.5, days: float = 0, trust: float = 0.6) -> Hit:
    found = memory(occurred_at=NOON - timedelta(days=days), trust=trust)
    stored = encode(found)
    return Hit(id=found.id, semantic=semantic, keyword=keyword, cosine=semantic, seq=1, stored=stored)


@pytest.mark.parametrize("name", PROFILES)
def test_a_score_and_its_signals_lie_between_0_and_1(name: str) -> None:
    for found in (hit(semantic=1, keyword=1, trust=1), hit(semantic=None, keyword=0, days=10_000, trust=0)):
        scored = profile_named(name).score(found, NOON)
        assert 0 <= scored.score <= 1
        assert all(0 <= signal <= 1 for signal in scored.signals.values())


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (hit(semantic=0.6), hit(semantic=0.5)),
        (hit(keyword=0.6), hit(keyword=0.5)),
        (hit(days=1), hit(days=100)),
        (hit(trust=0.8), hit(trust=0.4)),
    ],
    ids=["meaning", "words", "age", "trust"],
)
def test_more_of_a_signal_is_a_better_score(better: Hit, worse: Hit) -> None:
    profile = profile_named(None)
    assert profile.score(better, NOON).score > profile.score(worse, NOON).score


def test_age_alone_does_not_bury_an_answer() -> None:
    profile = profile_named("hybrid")
    old_answer, new_chatter = hit(semantic=0.8, keyword=0.8, days=3650), hit(semantic=0.5, keyword=0.5)
    assert profile.score(old_answer, NOON).score > profile.score(new_chatter, NOON).score


def test_what_has_not_happened_yet_is_as_recent_as_now() -> None:
    assert profile_named("hybrid").score(hit(days=-30), NOON).signals["recency"] == 1.0


def test_without_a_vector_words_are_left() -> None:
    scored = profile_named("hybrid").score(hit(semantic=None, keyword=0.9), NOON)
    assert scored.score > 0
    assert scored.signals["semantic"] == 0.0


def test_an_unknown_profile_lists_those_that_there_are() -> None:
    with pytest.raises(Invalid, match="hybrid") as raised:
        profile_named("magic")
    assert raised.value.detail["field"] == "profile"
