"""What the rules draw from what stands in a pool, whoever wrote it."""

from __future__ import annotations

from typing import Any

import pytest

from afterwit.memory_node.reflection.episodes import _with_stated
from afterwit.memory_node.reflection.rules import operations
from tests.samples import memory


@pytest.mark.parametrize("key", [["a", "b"], {"a": 1}, None, 7])
def test_anything_may_stand_in_the_data_of_what_agents_store(key: Any) -> None:
    """A key of ours is a string; the word is anybody's."""
    stored = memory("The lid is blue.", kind="fact", tier="semantic", data={"key": key})
    assert operations([], [], [stored]) == []


@pytest.mark.parametrize("stated", [5, None, [["outcome"]], "outcome", {"outcome": 1}])
def test_anything_may_have_been_written_into_an_episode(stated: Any) -> None:
    assert _with_stated({"outcome": "unknown"}, {"outcome": "success", "stated": stated}) == {"outcome": "unknown"}


def test_what_was_stated_of_an_episode_stays() -> None:
    old = {"outcome": "success", "user_feedback": "fine", "stated": ["outcome", "user_feedback"]}
    told = _with_stated({"outcome": "unknown", "user_feedback": "bad", "stated": ["user_feedback"]}, old)
    assert told == {"outcome": "success", "user_feedback": "bad", "stated": ["user_feedback", "outcome"]}
