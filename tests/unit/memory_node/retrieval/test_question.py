"""What is read out of a query."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from afterwit.memory_node.retrieval import Question, impersonal, time_asked
from afterwit.memory_node.retrieval.question import possible_names
from afterwit.schemas import TimeRange
from tests.samples import NOON

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    "text",
    [
        "Which big cities has Noor visited?",
        "What books does Alice read?",
        "How many times did they go to the beach?",
        "Where has Bo camped?",
        "What did Al and Bo both paint?",
        "In what ways do they help?",
        "小林去过哪些城市？",
        "她今年去了几次海边",
        "他们都喜欢什么音乐",
        "她今年去了幾次海邊",
    ],
)
def test_a_question_for_several_things_is_known(text: str) -> None:
    assert Question.of(text, NOON).several


@pytest.mark.parametrize(
    "text",
    [
        "Which seat should I pick for Marta?",
        "What does Alice love?",
        "What is the bus number?",
        "Why does it rain?",
        "小林住在哪里？",
        "退货期限是多久",
    ],
)
def test_a_question_for_one_thing_is_none(text: str) -> None:
    assert not Question.of(text, NOON).several


@pytest.mark.parametrize(
    ("text", "told_me"),
    [
        ("What did you recommend to me?", True),
        ("Ann: what advice have you given me?", True),
        ("你给我推荐过哪些书？", True),
        ("安：你教過我怎麼做魚？", True),
        ("What did I tell you?", False),
        ("I shared a film with you, what was it?", False),
        ("Do you remember what Bo gave me?", False),
        ("我和你分享过什么？", False),
        ("你还记得我养了什么吗？", False),
        ("What does Ann like?", False),
    ],
)
def test_what_the_other_told_who_asks_is_known(text: str, told_me: bool) -> None:
    assert Question.of(text, NOON).told_me is told_me


@pytest.mark.parametrize(
    ("text", "of_me"),
    [
        ("What do I like?", True),
        ("Ann: where's my hat?", True),
        ("安：我喜欢什么？", True),
        ("What do we like?", False),
        ("我们喜欢什么？", False),
        ("我們喜歡什麼？", False),
        ("What did I tell you?", False),
        ("我跟你说过什么？", False),
        ("What does Ann like?", False),
    ],
)
def test_a_question_of_who_asks_alone_is_known(text: str, of_me: bool) -> None:
    assert Question.of(text, NOON).of_me is of_me


def test_the_time_that_is_named_is_within_what_is_given() -> None:
    may = Question.of("What happened in May 2026?", NOON)
    first, last = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
    assert time_asked(may, None) == TimeRange(start=first, end=last)
    assert time_asked(may, TimeRange(start=first + DAY)) == TimeRange(start=first + DAY, end=last)
    assert time_asked(may, TimeRange(end=first)) == TimeRange(start=first, end=first), "no time at all"
    two = Question.of("五月一号或者五月三号发生了什么", datetime(2026, 5, 20, tzinfo=UTC))
    assert time_asked(two, None) == TimeRange(start=first, end=first + 3 * DAY)
    since = Question.of("What happened since 1 May 2026?", datetime(2026, 5, 20, tzinfo=UTC))
    assert time_asked(since, None) == TimeRange(start=first)
    assert time_asked(Question.of("What happened?", NOON), TimeRange(end=last)) == TimeRange(end=last)
    assert time_asked(Question.of("What happened?", NOON), None) is None


def test_whatever_has_the_form_of_a_name_may_be_one() -> None:
    names = possible_names("What did Anna van Dam tell José and Mary-Jane O'Hara?")
    assert {"anna", "dam", "jose", "mary-jane", "o'hara"} <= names
    assert "what" not in names
    assert {"jon", "小林"} <= possible_names("小林和Jon见过吗")
    assert {"小林", "陆景行"} <= possible_names("小林和陆景行在哪里认识的？")
    assert {"小云", "陆景行"} <= possible_names("小雲和陸景行在哪裡認識的？"), "folded"
    assert possible_names("no names at all") == frozenset()
    assert len(possible_names("中文名字很长" * 200)) < 300


def test_what_is_asked_of_somebody_is_asked_of_anybody() -> None:
    assert impersonal("What are Caroline's plans?", ["caroline"]) == "What are someone's plans?"
    assert impersonal("Is Jon or Jonas late?", ["jon", "jonas"]) == "Is someone or someone late?"
    assert impersonal("Is jonas late?", ["jon"]) == "Is jonas late?"
    assert impersonal("小林去过哪些城市？", ["小林"]) == "某人去过哪些城市？"
    assert impersonal("小林和Jon都去过哪些城市？", ["jon", "小林"]) == "某人和某人都去过哪些城市？"
    assert impersonal("小雲去過哪些城市？", ["小云"]) == "某人去过哪些城市？"
    assert impersonal("as it stands", []) == "as it stands"


@pytest.mark.parametrize(
    ("query", "name", "named"),
    [
        ("What does Al paint?", "Al", True), ("What does AL's cat eat?", "Al", True), ("Did she also?", "Al", False),
        ("Which salad?", "Al", False), ("王小明画了什么", "王小明", True), ("他画了什么", "王小明", False),
        ("Al: What do I paint?", "Al", False), ("Bo: What does Al paint?", "Al", True),
        ("王小明：我画了什么？", "王小明", False), ("Al今天画了什么", "Al", True), ("陳偉今天畫了什麼", "陈伟", True),
        ("Where is Zoë?", "Zoe", True), ("anything", "a.*", False),
    ],
)  # fmt: skip
def test_a_name_is_a_whole_word_where_there_are_spaces(query: str, name: str, named: bool) -> None:
    assert Question.of(query, NOON).names(name) is named


@pytest.mark.parametrize(
    ("query", "asker", "names"),
    [
        ("Emily: What did I paint with Noor?", "emily", {"noor"}),
        ("王小明：我画了什么？", "王小明", set()),
        ("What did Emily paint?", None, {"emily"}),
    ],
)
def test_who_begins_the_query_asks_it(query: str, asker: str | None, names: set[str]) -> None:
    assert Question.of(query, NOON).asker == asker
    assert {name for name in possible_names(query) if name in {"emily", "noor", "王小明"}} == names
