from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterwit.memory_node.reflection.numerals import number
from afterwit.memory_node.reflection.values import relation, values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,200", 1200), ("fourteen", 14), ("twenty-one", 21), ("two hundred and five", 205), ("3k", 3000),
        ("一千六百五十", 1650), ("两百零五", 205), ("一万二", 12_000), ("十二", 12), ("二〇二六", 2026),
        ("12万", 120_000),
        ("hello", None),
    ],
)  # fmt: skip
def test_numbers_in_words_and_digits(text: str, expected: float | None) -> None:
    assert number(text) == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("it takes an hour and a half", "it takes 90 minutes", "equal"),
        ("3 h 10 min", "190 minutes", "equal"),
        ("within 4 h", "最多四小时", "equal"),
        ("half a minute", "30 秒", "equal"),
        ("20 公斤", "四十斤", "equal"),
        ("350 °F", "about 177 °C", "equal"),
        ("百分之六十", "60 %", "equal"),
        ("八五折", "15 percent", "equal"),
        ("at least three people", "five people", "consistent"),
        ("under 5 km", "7 km", "disjoint"),
        ("12 EUR", "13 EUR", "disjoint"),
        ("3 March", "三月三日", "equal"),
        ("下午三点", "15:00", "equal"),
        ("at three", "15:00", "equal"),
        ("9 a.m. in London", "北京时间下午四点", "equal"),
        ("before noon", "14:20", "disjoint"),
    ],
)
def test_values_are_compared_whatever_they_are_written_in(a: str, b: str, expected: str) -> None:
    assert relation(values(a)[-1], values(b)[-1]) == expected


def test_numbers_that_belong_to_a_name_are_labels() -> None:
    assert [value.dimension for value in values("Ticket 6120 waits at Dock 4.")] == ["label", "label"]


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    for value in values(text):
        assert 0 <= value.start < value.end <= len(text)


@pytest.mark.parametrize("unit", ["1", "1,", "one ", "一", "a-", "half an ", "1:", "=a"])
def test_time_grows_no_faster_than_the_text(unit: str) -> None:
    def seconds(count: int) -> float:
        started = time.process_time()
        values(unit * count)
        return time.process_time() - started

    seconds(1000)
    assert seconds(8000) < 60 * max(seconds(2000), 0.005)
