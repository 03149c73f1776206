from __future__ import annotations

from datetime import timedelta

import pytest

from afterwit.memory_node.reflection.confidence import confidence, distinct_evidence, next_step, weighted_confidence
from afterwit.memory_node.reflection.discipline import judge_worth, same_again
from afterwit.schemas import Evidence
from tests.samples import NOON, memory


@pytest.mark.parametrize(
    ("text", "kind", "worth"),
    [
        ("Remember that the gate code is 4471.", "user_input", "wish"),
        ("记住，周五之前别发货。", "user_input", "wish"),
        ("I prefer aisle seats.", "user_input", "preference"),
        ("她不吃辣。", "user_input", "preference"),
        ("It must arrive before noon.", "user_input", "constraint"),
        ("No, that's wrong.", "user_input", "correction"),
        ("error: disk full", "tool_result", "failure"),
        ("The root cause was a full inode table.", "final_answer", "result"),
        ("Thanks!", "user_input", "none"),
        ("好的，谢谢！", "user_input", "none"),
        ("Hello there", "user_input", "none"),
        ("How is the weather?", "user_input", "none"),
        ("search(q='x')", "tool_call", "none"),
        ("ok", "tool_result", "none"),
    ],
)
def test_what_is_worth_keeping_is_told_from_chatter(text: str, kind: str, worth: str) -> None:
    verdict = judge_worth(text, kind)
    assert (verdict.worth, verdict.keep) == (worth, worth != "none")
    assert verdict.reason


def test_a_success_after_a_failure_is_its_remedy() -> None:
    assert judge_worth("ok", "tool_result", after_failure=True).worth == "remedy"


@pytest.mark.parametrize(
    ("text", "before", "again"),
    [
        ("I prefer aisle seats.", "I prefer aisle seats!", True),
        ("Aisle seats I prefer.", "I prefer aisle seats.", True),
        ("I don't prefer aisle seats.", "I prefer aisle seats.", False),
        ("Budget is 96 EUR.", "Budget is 95 EUR.", False),
        ("我喜欢靠窗的座位。", "我喜欢靠窗座位", True),
        ("我不喜欢靠窗的座位。", "我喜欢靠窗座位", False),
        ("我喜歡靠窗的座位。", "我喜欢靠窗座位", True),
        ("我沒喜歡靠窗的座位。", "我喜欢靠窗座位", False),
    ],
)
def test_saying_it_again_is_seen(text: str, before: str, again: bool) -> None:
    assert (same_again(text, ["Something else.", before]) == 1) is again


def test_confidence_follows_the_evidence() -> None:
    assert confidence(Evidence()) == pytest.approx(1 / 3)
    assert confidence(Evidence(supporting=3)) == pytest.approx(4 / 6)
    assert confidence(Evidence(supporting=1, contradicting=3)) == pytest.approx(2 / 7)
    assert weighted_confidence([0.8, 0.8, 0.8], []) == pytest.approx(4 / 6)
    assert weighted_confidence([0.4, 0.4], []) == pytest.approx(2 / 4)


def test_one_session_is_one_piece_of_evidence() -> None:
    twice = [memory("a", session_id="s"), memory("b", session_id="s"), memory("c"), memory("c")]
    assert len(distinct_evidence(twice)) == 2


def test_candidates_rise_and_the_refuted_fade_but_not_what_is_pinned_or_disputed() -> None:
    long_ago = NOON - timedelta(days=31)
    assert next_step("candidate", 4 / 6, None, NOON) == "promote"
    assert next_step("candidate", 0.5, None, NOON) == "keep"
    assert next_step("active", 0.25, NOON, NOON) == "demote"
    assert next_step("active", 0.25, long_ago, NOON) == "archive"
    assert next_step("active", 0.25, long_ago, NOON, pinned=True) == "keep"
    assert next_step("disputed", 0.25, long_ago, NOON) == "keep"
