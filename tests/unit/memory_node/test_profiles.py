"""Profiles as data."""

from __future__ import annotations

import pytest

from afterwit.memory_node.retrieval import PROFILES, profile_named
from afterwit.schemas import Invalid


def test_the_contracts_profiles_are_there() -> None:
    assert {"evidence", "hybrid", "hindsight"} <= PROFILES.keys()


def test_without_a_name_the_best_one_is_taken() -> None:
    assert profile_named(None).name == "evidence"


@pytest.mark.parametrize("name", PROFILES)
def test_weights_sum_to_one_and_effects_are_shares(name: str) -> None:
    profile = PROFILES[name]
    assert sum(profile.weights.values()) == pytest.approx(1)
    assert all(0 <= effect <= 1 for effect in profile.effects.values())


def test_an_unknown_profile_lists_those_that_there_are() -> None:
    with pytest.raises(Invalid, match="hybrid") as raised:
        profile_named("magic")
    assert raised.value.detail["field"] == "profile"
