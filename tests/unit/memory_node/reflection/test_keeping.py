from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afterwit.memory_node.reflection.compression import compress
from afterwit.memory_node.reflection.keeping import conditions, details, kept
from afterwit.memory_node.tokens import count_tokens
from afterwit.schemas import Memory
from afterwit.schemas.words import Kind
from tests.samples import memory

NAMES = st.sampled_from(
    ["Ilse Okoro", "Casa Telha", "worker-22", "BH-106118", "温知夏", "orders-pg", "v2.8.1", "a@b.example"]
)
FIGURES = st.sampled_from(
    ["95 EUR", "22 May", "18:00", "12 GB", "3 月 12 日", "650 元", "40 %", "两周", "5,000", "14 days"]
)
FRAMES = st.sampled_from(
    [
        "Please book {n} for {f}.", "{n} has a severe peanut allergy, and {f} is the limit.",
        "Never call {n} after {f}.",
        "The result for {n} was {f}, nothing special.", "Hello there, how are you today?", "请联系{n}，预算不超过{f}。",
        "{n} 在 {f} 已经完成。", "不要动 {n}，{f} 之前都不行。", "Well, that is nice weather, is it not.",
    ]
)  # fmt: skip
KINDS: st.SearchStrategy[Kind] = st.sampled_from(("user_input", "agent_thought", "tool_result", "final_answer"))


@st.composite
def turns(draw: st.DrawFn) -> list[Memory]:
    made = []
    for turn in range(draw(st.integers(1, 12))):
        kind: Kind = draw(KINDS)
        text = " ".join(draw(FRAMES).format(n=draw(NAMES), f=draw(FIGURES)) for _ in range(draw(st.integers(1, 3))))
        made.append(memory(text, kind=kind, turn=turn, importance=draw(st.sampled_from([0.3, 0.5, 0.95]))))
    return made


@settings(max_examples=60)
@given(turns(), st.integers(20, 400))
def test_compression_loses_nothing_that_it_does_not_name(events: list[Memory], budget: int) -> None:
    pressed = compress(events, budget)
    assert pressed.tokens == count_tokens(pressed.text)
    assert pressed.tokens <= budget
    before = "\n".join(event.content for event in events)
    named = "\n".join(pressed.missing)
    assert kept(before, f"{pressed.text}\n{named}") == []


@settings(max_examples=40)
@given(turns(), turns(), st.integers(150, 400))
def test_a_summary_of_a_summary_still_holds_what_the_first_held(
    early: list[Memory], late: list[Memory], budget: int
) -> None:
    once = compress(early, budget)
    twice = compress([memory(once.text or "-", kind="summary"), *late], budget)
    assert [gone for gone in kept(once.text, twice.text) if gone not in twice.missing and not twice.missing] == []


def test_the_peanut_allergy_survives_two_compressions() -> None:
    first = memory(
        "Ilse Okoro has a severe peanut allergy, it applies to every meal.", kind="user_input", importance=0.95
    )
    talk = [
        memory(f"We looked at house number {i} near the river and it was fine.", kind="final_answer") for i in range(40)
    ]
    once = compress([first, *talk[:20]], 120)
    twice = compress([memory(once.text, kind="summary"), *talk[20:]], 120)
    assert "Ilse Okoro has a severe peanut allergy" in twice.text
    assert twice.tokens <= 120


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Book Casa Telha for 95 EUR on 22 May at 18:00.", ["Casa Telha", "95 EUR", "22 May", "18:00"]),
        ("set bom=1 in exporter/stream.py", ["bom=1", "exporter/stream.py"]),
        ("请在 3 月 12 日前把 650 元转给温知夏", ["3 月 12 日", "650 元", "温知夏"]),
    ],
)
def test_details(text: str, expected: list[str]) -> None:
    assert set(expected) <= set(details(text))


def test_conditions_are_sentences_word_for_word() -> None:
    assert conditions("Nice day. I must be back by Thursday 18:00. 她对花生过敏。 她對花生過敏。") == [
        "I must be back by Thursday 18:00.",
        "她对花生过敏。",
        "她對花生過敏。",
    ]


def test_a_lost_negation_is_a_lost_condition() -> None:
    assert kept("Do not call Greta.", "Call Greta.") == ["Do not call Greta."]
    assert kept("Do not call Greta.", "Greta said: do not call Greta!") == []
