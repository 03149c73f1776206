"""What expressions of time mean on Wednesday, 13 May 2026."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterwit.memory_node.when import periods

NOW = datetime(2026, 5, 13, 9, 0, tzinfo=UTC)

ENGLISH = [
    ("What did we do today?", "2026-05-13", "2026-05-14"),
    ("yesterday's outage", "2026-05-12", "2026-05-13"),
    ("the day before yesterday", "2026-05-11", "2026-05-12"),
    ("due tomorrow", "2026-05-14", "2026-05-15"),
    ("last week", "2026-05-04", "2026-05-11"),
    ("this week", "2026-05-11", "2026-05-18"),
    ("the week before this one", "2026-05-04", "2026-05-11"),
    ("the week before last", "2026-04-27", "2026-05-04"),
    ("last month", "2026-04-01", "2026-05-01"),
    ("next month", "2026-06-01", "2026-07-01"),
    ("last year", "2025-01-01", "2026-01-01"),
    ("the last three days", "2026-05-10", "2026-05-14"),
    ("in the past two weeks", "2026-04-29", "2026-05-14"),
    ("within the next seven days", "2026-05-13", "2026-05-21"),
    ("three days ago", "2026-05-10", "2026-05-11"),
    ("two months ago", "2026-03-01", "2026-04-01"),
    ("a couple of weeks ago", "2026-04-26", "2026-05-03"),
    ("last Friday", "2026-05-08", "2026-05-09"),
    ("on Monday", "2026-05-11", "2026-05-12"),
    ("next Tuesday", "2026-05-19", "2026-05-20"),
    ("last weekend", "2026-05-09", "2026-05-11"),
    ("in April", "2026-04-01", "2026-05-01"),
    ("in May", "2026-05-01", "2026-06-01"),
    ("in December", "2025-12-01", "2026-01-01"),
    ("in May 2023", "2023-05-01", "2023-06-01"),
    ("on 7 May", "2026-05-07", "2026-05-08"),
    ("May 7th, 2023", "2023-05-07", "2023-05-08"),
    ("the 3rd of April", "2026-04-03", "2026-04-04"),
    ("on 24 December", "2025-12-24", "2025-12-25"),
    ("on 29 February", "2024-02-29", "2024-03-01"),
    ("the first week of April", "2026-04-01", "2026-04-08"),
    ("the last day of April", "2026-04-30", "2026-05-01"),
    ("early April", "2026-04-01", "2026-04-11"),
    ("the end of April", "2026-04-21", "2026-05-01"),
    ("as of 10 April", None, "2026-04-11"),
    ("before April", None, "2026-04-01"),
    ("since April", "2026-04-01", None),
    ("after 3 April", "2026-04-04", None),
    ("between 3 April and 10 April", "2026-04-03", "2026-04-11"),
    ("from March to April", "2026-03-01", "2026-05-01"),
    ("in 2025", "2025-01-01", "2026-01-01"),
    ("Q1 2026", "2026-01-01", "2026-04-01"),
    ("last summer", "2025-06-01", "2025-09-01"),
    ("2026-04-03", "2026-04-03", "2026-04-04"),
    ("2026-04", "2026-04-01", "2026-05-01"),
    ("over the past week", "2026-05-06", "2026-05-14"),
    ("half a year ago", "2025-11-01", "2025-12-01"),
    ("a year ago today", "2025-05-13", "2025-05-14"),
    ("since Monday", "2026-05-11", None),
    ("at the weekend", "2026-05-09", "2026-05-11"),
    ("3-5 April", "2026-04-03", "2026-04-06"),
    ("from the 3rd to the 5th of April 2025", "2025-04-03", "2025-04-06"),
    ("April 3 to 5", "2026-04-03", "2026-04-06"),
    ("in the last 24 hours", "2026-05-11", "2026-05-14"),
    ("two weeks from now", "2026-05-24", "2026-05-31"),
]

CHINESE = [
    ("今天做了什么", "2026-05-13", "2026-05-14"),
    ("昨天的会", "2026-05-12", "2026-05-13"),
    ("前天谁来过", "2026-05-11", "2026-05-12"),
    ("大前天", "2026-05-10", "2026-05-11"),
    ("明天到货吗", "2026-05-14", "2026-05-15"),
    ("后天", "2026-05-15", "2026-05-16"),
    ("上周谁休假", "2026-05-04", "2026-05-11"),
    ("上上周", "2026-04-27", "2026-05-04"),
    ("这个星期", "2026-05-11", "2026-05-18"),
    ("上个月的账单", "2026-04-01", "2026-05-01"),
    ("下个月", "2026-06-01", "2026-07-01"),
    ("去年", "2025-01-01", "2026-01-01"),
    ("上周五", "2026-05-08", "2026-05-09"),
    ("下周二", "2026-05-19", "2026-05-20"),
    ("上周末", "2026-05-09", "2026-05-11"),
    ("最近三天", "2026-05-10", "2026-05-14"),
    ("三天前", "2026-05-10", "2026-05-11"),
    ("两个月前", "2026-03-01", "2026-04-01"),
    ("四月份", "2026-04-01", "2026-05-01"),
    ("去年十二月", "2025-12-01", "2026-01-01"),
    ("2023年5月7日", "2023-05-07", "2023-05-08"),
    ("五月七号", "2026-05-07", "2026-05-08"),
    ("四月底", "2026-04-21", "2026-05-01"),
    ("月份不对，上个月初", "2026-04-01", "2026-04-11"),
    ("五一之前买的", None, "2026-05-01"),
    ("四月以来", "2026-04-01", None),
    ("从三月到四月", "2026-03-01", "2026-05-01"),
    ("第一季度", "2026-01-01", "2026-04-01"),
    ("三月之前", None, "2026-03-01"),
    ("四月以后", "2026-05-01", None),
    ("去年国庆", "2025-10-01", "2025-10-02"),
    ("二零二五年三月五日", "2025-03-05", "2025-03-06"),
    ("25年3月", "2025-03-01", "2025-04-01"),
    ("二〇二五年", "2025-01-01", "2026-01-01"),
    ("去年的今天", "2025-05-13", "2025-05-14"),
    ("去年底", "2025-10-01", "2026-01-01"),
    ("2025年年初", "2025-01-01", "2025-04-01"),
    ("年初定的目标", "2026-01-01", "2026-04-01"),
    ("去年下半年", "2025-07-01", "2026-01-01"),
    ("去年夏天", "2025-06-01", "2025-09-01"),
    ("半年前", "2025-11-01", "2025-12-01"),
    ("过去一周", "2026-05-06", "2026-05-14"),
    ("过去半年", "2025-11-12", "2026-05-14"),
    ("过去24小时", "2026-05-11", "2026-05-14"),
    ("上周一到周三", "2026-05-04", "2026-05-07"),
    ("4月3日到5日", "2026-04-03", "2026-04-06"),
    ("4月3-5号", "2026-04-03", "2026-04-06"),
    ("上个月15号", "2026-04-15", "2026-04-16"),
    ("前晚停电了", "2026-05-11", "2026-05-12"),
    ("上個月的帳單", "2026-04-01", "2026-05-01"),
    ("兩個月後", "2026-07-01", "2026-08-01"),
    ("下週二", "2026-05-19", "2026-05-20"),
]


@pytest.mark.parametrize(("text", "start", "end"), ENGLISH + CHINESE, ids=[row[0] for row in ENGLISH + CHINESE])
def test_an_expression_is_a_period(text: str, start: str | None, end: str | None) -> None:
    (found,) = periods(text, NOW)
    assert (str(found.span.start or ""), str(found.span.end or "")) == (start or "", end or "")


@pytest.mark.parametrize(
    "text",
    [
        "May I phone Hamid?", "the Monday meeting", "礼拜五傍晚可以上线吗", "version 2.8.1", "KST-231",
        "三年中", "日本年轻人", "目前晚高峰", "一年级", "他在上一年级",
        "march on", "no time at all", "", "最近怎么样", "前端后端", "0 months", "9999 years ago",
    ],
)  # fmt: skip
def test_what_names_no_time_is_none(text: str) -> None:
    assert periods(text, NOW) == []


def test_days_are_those_of_the_place() -> None:
    late = datetime(2026, 5, 12, 23, 0, tzinfo=UTC)  # the thirteenth has begun in Shanghai
    (found,) = periods("昨天", late, ZoneInfo("Asia/Shanghai"))
    assert found.start == datetime(2026, 5, 11, 16, 0, tzinfo=UTC)
    assert found.end == datetime(2026, 5, 12, 16, 0, tzinfo=UTC)


@given(st.text(max_size=400), st.datetimes(timezones=st.just(UTC)))
def test_no_text_and_no_day_is_too_much(text: str, now: datetime) -> None:
    periods(text, now)


_WORDS = "last next 3 99 week weeks month ago may 31 february 前 月 三 十 天 上 周 2026 9999 年".split()  # noqa: SIM905


@given(st.lists(st.sampled_from(_WORDS)))
def test_no_mixture_of_its_words_is_too_much(words: list[str]) -> None:
    periods(" ".join(words), datetime(1, 1, 1, tzinfo=UTC))
    periods("".join(words), datetime(9999, 12, 31, tzinfo=UTC))
