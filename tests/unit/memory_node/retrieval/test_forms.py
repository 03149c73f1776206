"""What form of answer a question asks for, and which forms there are in a turn of talk."""

from __future__ import annotations

import pytest

from afterwit.memory_node.retrieval.forms import asked_forms, forms_of
from tests.samples import memory


@pytest.mark.parametrize(
    ("question", "forms"),
    [
        ("When did Ann go to Rome?", {"time"}),
        ("When Ann lost her job?", {"time"}),
        ("What day is the party?", {"time"}),
        ("安什么时候去的罗马？", {"time"}),
        ("安什麼時候去的羅馬？", {"time"}),
        ("展览是哪天开的", {"time"}),
        ("How long has Ann painted?", {"time", "number"}),
        ("安画了多久？", {"time", "number"}),
        ("How many cats does Ann have?", {"number"}),
        ("安养了几只猫？", {"number"}),
        ("安養了幾隻貓？", {"number"}),
        ("What was the name of the book?", {"name"}),
        ("Which film did you see?", {"name"}),
        ("那本书叫什么？", {"name"}),
        ("安看的是哪部电影", {"name"}),
        ("Which film did you see, and when did you see it?", {"name", "time"}),
        ("When I was in Rome, what did I eat?", set()),
        ("Why does Ann paint?", set()),
        ("安为什么画画？", set()),
        ("", set()),
    ],
)
def test_a_question_says_what_form_it_asks_for(question: str, forms: set[str]) -> None:
    assert asked_forms(question) == forms


@pytest.mark.parametrize(
    ("said", "forms"),
    [
        ("Ann: We went last week.", {"time"}),
        ("Ann: It is in May, I think.", {"time"}),
        ("Ann: I may go, or not.", set()),
        ("安：我们上周去的。", {"time"}),
        ("安：我們上週去的。", {"time"}),
        ("安：我们十分高兴。", set()),
        ("Ann: There are two of them.", {"number"}),
        ("Ann: 14 of them.", {"number"}),
        ("安：我养了两只猫。", {"number"}),
        ("安：我養了兩隻貓。", {"number"}),
        ("Ann: It was in Rome.", {"name"}),
        ("Ann: I saw “the wall”.", {"name"}),
        ("安：我看了《围城》。", {"name"}),
        ("安：我用Joplin记笔记。", {"name"}),
        ("Ann: So I did. And on Friday, I will.", {"time"}),
        ("Ann: I read a really good novel.", set()),
        ("安：我看了一本很好的小说。", set()),
        ("", set()),
    ],
)
def test_a_turn_has_what_forms_are_in_it(said: str, forms: set[str]) -> None:
    assert forms_of(memory(said or "-")) == forms
