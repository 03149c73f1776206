"""Which texts are folded into one: those that say the same, and none that only have the same words."""

from __future__ import annotations

import pytest

from afterwit.memory_node.retrieval.likeness import Likeness
from tests.samples import memory

SAME = [
    ("The backup ran at night, as planned.", "the  BACKUP ran at night as planned"),
    ("Backups of the ledger run every night at two", "Backups of ledger run every night at two"),
    ("备份昨晚已经完成，一切正常", "备份昨晚已经完成，一切正常。"),
    ("备份昨晚已经完成，一切正常", "備份昨晚已經完成，一切正常。"),
]
OTHERS = [
    ("Server A depends on server B", "Server B depends on server A"),
    ("The deploy was approved by Ann for Bob", "The deploy was approved by Bob for Ann"),
    ("Approved for Ann by Bob and by the board", "Approved by Ann for Bob and by the board"),
    ("The price rose from 10 to 20", "The price rose from 20 to 10"),
    ("The freezer is at -18 °C", "The freezer is at 18 °C"),
    ("冷库的温度现在是-18度", "冷库的温度现在是18度"),
    ("The balance changed by +500 dollars", "The balance changed by -500 dollars"),
    ("The fee of this card is $40 a year", "The fee of this card is €40 a year"),
    ("Of the cache 50% is free", "Of the cache 50 is free"),
    ("She likes tea and hates coffee", "She hates tea and likes coffee"),
    ("昨天甲组接替了乙组", "昨天乙组接替了甲组"),
    ("防火墙现在没有打开这个端口", "防火牆現在打開這個端口"),
    ("Guests can read the wiki here", "Guests can not read the wiki here"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_in_nearly_the_same_words_is_the_same(one: str, other: str) -> None:
    assert Likeness.of(memory(content=one)).same(Likeness.of(memory(content=other)))


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_the_same_words_may_say_something_else(one: str, other: str) -> None:
    assert not Likeness.of(memory(content=one)).same(Likeness.of(memory(content=other)))
    assert not Likeness.of(memory(content=other)).same(Likeness.of(memory(content=one)))


def test_what_is_not_compared_must_be_equal() -> None:
    page = "The same lines stand at the head of every report. " * 50
    assert not Likeness.of(memory(content=page + "Passed.")).same(Likeness.of(memory(content=page + "Failed.")))
    one, other = (
        Likeness.of(memory(content="The tool has answered", data=data)) for data in ({"code": 1}, {"code": 2})
    )
    assert not one.same(other)
