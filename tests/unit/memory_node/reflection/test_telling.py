from __future__ import annotations

import uuid
from datetime import timedelta

import pytest

from afterwit.memory_node.reflection.causes import causal_graph, turn_problems
from afterwit.memory_node.reflection.lessons import lessons
from afterwit.memory_node.reflection.outcome import is_failure, outcome
from afterwit.memory_node.reflection.telling import MAX_CHARACTERS, lost, tell
from afterwit.schemas import Link, Memory
from afterwit.schemas.words import Kind
from tests.samples import NOON, memory


def _session(*turns: tuple[Kind, str]) -> list[Memory]:
    """Each turn caused by the one before it."""
    made: list[Memory] = []
    for turn, (kind, content) in enumerate(turns, start=1):
        links = (Link(rel="caused_by", target=made[-1].id),) if made else ()
        made.append(memory(content, kind=kind, turn=turn, session_id="s1", links=links))
    return made


ENGLISH = _session(
    ("user_input", "I'm Nils Aho. Please restart the cache on node-7 before 18:00, but never touch audit-log."),
    ("tool_call", "restart(host='node-7', service='cache')"),
    ("tool_result", "error: permission denied, restart needs role ops"),
    ("agent_thought", "Restarts need the role ops. Ask for it."),
    ("tool_call", "restart(host='node-7', service='cache', role='ops')"),
    ("tool_result", "restarted at 17:42, ticket OPS-5512"),
    ("final_answer", "Done: the cache on node-7 was restarted at 17:42 (OPS-5512)."),
    ("user_input", "Great, thank you."),
)
CHINESE = _session(
    ("user_input", "我叫沈墨，帮我退掉订单 BH-200311，退款不能低于 300 元。"),
    ("tool_call", "refund(order='BH-200311', amount=300)"),
    ("tool_result", "失败：订单已过退款期"),
    ("final_answer", "没能退款：订单 BH-200311 已过退款期，需要主管审批。"),
)


def test_an_episode_tells_task_steps_outcome_and_lessons_in_the_sessions_language() -> None:
    draft = tell(ENGLISH)
    assert draft.data["outcome"] == "success"
    assert draft.data["task"].startswith("I'm Nils Aho.")
    assert draft.data["steps"][0].endswith("error: permission denied, restart needs role ops")
    assert "role ops" in draft.data["lessons"][0]
    assert draft.data["user_feedback"] == "Great, thank you."
    assert {"Nils Aho", "node-7", "OPS-5512"} <= set(draft.entities)
    assert draft.derived_from == tuple(event.id for event in ENGLISH)
    assert draft.content.startswith("Task: ")
    assert tell(CHINESE).content.startswith("任务：")
    assert tell(CHINESE).data["outcome"] == "failure"


@pytest.mark.parametrize("events", [ENGLISH, CHINESE])
def test_nothing_that_was_said_is_lost(events: list[Memory]) -> None:
    draft = tell(events)
    assert lost(events, draft) == []
    assert draft.whole


def test_what_the_caller_knows_goes_before_what_is_read() -> None:
    draft = tell(ENGLISH, told_outcome="partial", told_feedback="too late")
    assert (draft.data["outcome"], draft.data["user_feedback"]) == ("partial", "too late")


def test_a_session_of_ten_thousand_turns_is_told_in_bounds() -> None:
    turns: list[tuple[Kind, str]] = [("user_input", "Keep node-7 alive until 18:00, never touch audit-log.")]
    for i in range(3333):
        turns += [
            ("tool_call", f"ping(host='node-{i}')"),
            ("tool_result", f"{i} ms"),
            ("agent_thought", "It answers, go on."),
        ]
    draft = tell(_session(*turns, ("final_answer", "All 3333 nodes answered.")))
    assert len(draft.content) <= MAX_CHARACTERS
    assert "never touch audit-log" in draft.content
    assert len(draft.data["steps"]) <= 40


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Booked: table for four on Friday, reference T-12.", "success"),
        ("I could not reach the vendor, and nobody else has the key.", "failure"),
        ("The flight is booked; the hotel has to wait until Monday.", "partial"),
        ("Deployed to staging. Production remains open.", "partial"),
        ("航班已订好，签证还没办。", "partial"),
        ("已经修好，测试全过。", "success"),
        ("没能恢复数据，备份也坏了。", "failure"),
    ],
)
def test_the_last_answer_tells_the_outcome(answer: str, expected: str) -> None:
    assert outcome(_session(("user_input", "Please do it."), ("final_answer", answer))) == expected


def test_a_session_without_an_answer_is_unknown() -> None:
    assert outcome(_session(("user_input", "Please do it."))) == "unknown"


@pytest.mark.parametrize(
    ("text", "data", "expected"),
    [
        ("[]", None, True), ("error 504", None, True), ("not found", None, True), ("0 家", None, True),
        ("all good", {"error": "locked"}, True), ("nothing", {"count": 0}, True),
        ("42 rows", {"count": 42}, False), ("0 errors", None, False), ("复制完成，没有错误", None, False),
    ],
)  # fmt: skip
def test_failures_are_told_by_data_or_words(text: str, data: object, expected: bool) -> None:
    assert is_failure(text, data) is expected


def test_a_remedy_and_a_correction_are_lessons() -> None:
    events = _session(
        ("user_input", "Translate the notes."),
        ("final_answer", "1) The memory board can be pinned."),
        ("user_input", "No! We call it panel, not board."),
        ("agent_thought", "Use the glossary: panel."),
    )
    found = lessons(events)
    assert [lesson.reason for lesson in found] == ["correction"]
    assert "panel, not board" in found[0].content
    assert found[0].because == (events[2].id, events[3].id)
    assert lessons(ENGLISH)[0].reason == "remedy"


def test_causes_are_checked_and_missing_ones_worked_out() -> None:
    later = str(uuid.uuid4())
    events = [
        memory("Do it.", kind="user_input", turn=1, links=(Link(rel="caused_by", target=later),)),
        memory("do()", kind="tool_call", turn=2, id=later),
        memory("ok", kind="tool_result", turn=3),
        memory("Done.", kind="final_answer", turn=4),
    ]
    graph = causal_graph(events)
    assert graph.problems == ("turn 1: a cause that is not earlier",)
    assert graph.chain(events[3].id) == [events[2].id, events[1].id, events[0].id]
    assert all(edge.inferred for edges in graph.edges.values() for edge in edges)
    assert graph.ancestors(events[3].id) == {event.id for event in events[:3]}
    assert causal_graph(ENGLISH).edges[ENGLISH[2].id][0].weight == 1.0


def test_what_is_wrong_with_turns_and_causes_stands_in_the_episode() -> None:
    def said(turn: int, minute: int, kind: Kind = "user_input") -> Memory:
        return memory(f"Step {turn}.", kind=kind, turn=turn, occurred_at=NOON + timedelta(minutes=minute))

    events = [said(1, 1), said(2, 2), said(2, 3), said(4, 5), said(5, 4), said(9, 9)]
    assert turn_problems(events) == [
        "turn 2: 2 times user_input",
        "turn 3 is missing",
        "turn 5: it happened before turn 4",
        "turns 6 to 8 are missing",
    ]
    assert tell(events).data["problems"] == turn_problems(events)
    assert turn_problems([said(3, 1), said(4, 1, "tool_call"), said(4, 1, "tool_call"), said(5, 2)]) == []
    assert "problems" not in tell(ENGLISH).data


def test_no_events_are_no_episode() -> None:
    with pytest.raises(ValueError, match="no events"):
        tell([])
