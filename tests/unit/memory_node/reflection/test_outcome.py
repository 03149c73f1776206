"""How a session ended, by what was said in it: in English, and in both ways to write Chinese."""

from __future__ import annotations

import pytest

from afterwit.memory_node.reflection.outcome import is_failure, outcome, user_feedback
from tests.samples import memory


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The room is booked.", "success"),
        ("I could not book the room.", "failure"),
        ("房间已经订好了。", "success"),
        ("没能订到房间。", "failure"),
        ("沒能訂到房間。", "failure"),
        ("問題無法解決。", "failure"),
    ],
)
def test_the_answer_tells_how_it_ended(answer: str, expected: str) -> None:
    assert outcome([memory("?", kind="user_input"), memory(answer, kind="final_answer")]) == expected


@pytest.mark.parametrize(("text", "expected"), [("没有错误", False), ("沒有報錯", False), ("報錯了", True), ("", True)])
def test_a_result_with_errors_is_a_failure(text: str, expected: bool) -> None:
    assert is_failure(text) is expected


def test_what_the_user_said_to_it_is_kept_as_it_was_written() -> None:
    said = ["不对，我要的是靠窗的座位。", "不對，我要的是靠窗的座位。"]
    for words in said:
        events = [memory("Booked.", kind="final_answer"), memory(words, kind="user_input")]
        assert user_feedback(events) == words
