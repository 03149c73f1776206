"""What a window puts in front of the model."""

from __future__ import annotations

from afterwit.memory_node.tokens import count_tokens
from afterwit.memory_node.window import select
from tests.samples import memory


def test_recent_turns_win_over_older_ones_of_the_same_importance() -> None:
    turns = [memory(turn=n, content=f"turn {n}") for n in range(1, 31)]
    assert [m.turn for m in select(turns).memories] == list(range(21, 31))


def test_an_important_turn_outlives_unimportant_ones() -> None:
    turns = [memory(turn=1, importance=1.0, content="Ilse is allergic to peanuts.")]
    turns += [memory(turn=n, importance=0.1) for n in range(2, 16)]
    assert 1 in [m.turn for m in select(turns).memories]


def test_while_tools_are_called_twenty_turns_are_kept() -> None:
    turns = [memory(turn=n, kind="tool_call") for n in range(1, 31)]
    assert len(select(turns).memories) == 20


def test_the_budget_is_kept_and_what_does_not_fit_is_passed_over() -> None:
    turns = [memory(turn=1, content="short"), memory(turn=2, content="long " * 200), memory(turn=3, content="last")]
    selected = select(turns, max_tokens=10)
    assert [m.content for m in selected.memories] == ["short", "last"]
    assert selected.tokens == count_tokens("short") + count_tokens("last") <= 10


def test_nothing_gives_nothing() -> None:
    assert select([]).memories == ()
