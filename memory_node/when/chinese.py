"""Expressions of time in Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Final

from .calendar import (
    Span,
    Unit,
    back,
    day,
    day_without_year,
    days_from,
    length,
    made,
    month,
    month_without_year,
    part,
    shifted,
    unit_at,
    weekday,
)

_DIGITS: Final = {character: n for n, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_NUM: Final = "[0-9零〇一二两三四五六七八九十百]{1,4}"
_DATE_NUM: Final = "(?:[0-9]{1,2}|[一二三四五六七八九十]{1,3})"
_UNIT: Final = "(?P<unit>天|日|周|星期|礼拜|月|季度|年)"
_WEEK: Final = "(?:周|星期|礼拜)"
_UNITS: Final[dict[str, Unit]] = {
    "天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week",
    "月": "month", "季度": "quarter", "年": "year",
}  # fmt: skip
_A_YEAR: Final = (
    "(?:(?P<year>(?:19|20)[0-9]{2}|[0-9]{2}(?=年[0-9一二三四五六七八九十]{1,2}月)|[一二][零〇一二三四五六七八九]{3})年的?"
    "|(?P<said>今年|去年|前年|明年|后年)的?)"
)
_YEAR: Final = f"{_A_YEAR}?"
_SAID: Final = {"今年": 0, "去年": -1, "前年": -2, "明年": 1, "后年": 2}
_FEW: Final = 4
_HOLIDAYS: Final = {
    "元旦": (1, 1),
    "五一": (5, 1),
    "劳动节": (5, 1),
    "国庆": (10, 1),
    "圣诞": (12, 25),
    "双十一": (11, 11),
    "双11": (11, 11),
}
_PARTS_OF_YEAR: Final = {
    "初": (1, 3), "底": (10, 12), "末": (10, 12), "上半": (1, 6), "下半": (7, 12),
    "春": (3, 5), "夏": (6, 8), "秋": (9, 11), "冬": (12, 14),
}  # fmt: skip
"""First and last month."""
_TO: Final = "(?:到|至|[-–—~～])"


def number(text: str) -> int:
    """``text`` in Chinese numerals or digits as a number: 二十三, 一百零五, 12."""
    if text.isdecimal() and text.isascii():
        return int(text)
    total, current = 0, 0
    for character in text:
        if character == "百":
            total, current = total + 100 * (current or 1), 0
        elif character == "十":
            total, current = total + 10 * (current or 1), 0
        elif character in _DIGITS:
            current = _DIGITS[character]
        else:
            current = 10 * current + int(character)
    return total + current


def _count(match: re.Match[str]) -> int:
    return _FEW if match["n"] == "几" else number(match["n"])


def _offset(text: str) -> int:
    if text[0] in "上前":
        return -text.count("上") or -1
    return text.count("下") if text[0] == "下" else 0


def _year(match: re.Match[str], now: date) -> int | None:
    if match["year"]:
        year = int("".join(str(_DIGITS.get(digit, digit)) for digit in match["year"]))
        return year + (2000 if year < 100 else 0)
    return now.year + _SAID[match["said"]] if match["said"] else None


def _month(match: re.Match[str], now: date) -> Span:
    year, which = _year(match, now), number(match["m"])
    made(now.year, which, 1)  # 13月 is no month
    span = month_without_year(now, which) if year is None else month(year, which)
    piece = match["part"]
    if not piece:
        return span
    return part(span, "early" if piece in ("初", "上旬") else "mid" if piece in ("中", "中旬") else "late")


def _relative_month_part(match: re.Match[str], now: date) -> Span:
    span = unit_at(now, "month", _offset(match["which"]))
    return part(
        span, "early" if match["part"] in ("初", "上旬") else "mid" if match["part"] in ("中", "中旬") else "late"
    )


def _date(match: re.Match[str], now: date) -> Span:
    year, which, of_month = _year(match, now), number(match["m"]), number(match["d"])
    return day_without_year(now, which, of_month) if year is None else day(made(year, which, of_month))


def _weekday(match: re.Match[str], now: date) -> Span:
    weeks, name = _offset(match["which"]), match["d"]
    if name == "末":
        saturday = weekday(now, 5, weeks)
        assert saturday.start is not None
        return Span(saturday.start, shifted(saturday.start, 2))
    return weekday(now, 6 if name in "日天" else number(name) - 1, weeks)


def _quarter(match: re.Match[str], now: date) -> Span:
    year, first = _year(match, now) or now.year, 3 * number(match["q"]) - 2
    return month(year, first).until(month(year, first + 2))


def _part_of_year(match: re.Match[str], now: date) -> Span:
    year = _year(match, now) or now.year
    first, last = _PARTS_OF_YEAR[match["part"]]
    return month(year, first).until(month(year, last))


def _holiday(match: re.Match[str], now: date) -> Span:
    year, holiday = _year(match, now), _HOLIDAYS[match["name"]]
    return day_without_year(now, *holiday) if year is None else day(made(year, *holiday))


def _this_day(match: re.Match[str], now: date) -> Span:
    return day(made(_year(match, now) or now.year, now.month, now.day))


def _of_relative_month(match: re.Match[str], now: date) -> Span:
    first = unit_at(now, "month", _offset(match["which"])).start
    assert first is not None
    return day(made(first.year, first.month, number(match["d"])))


def _days(match: re.Match[str], now: date) -> Span | None:
    """Several days of one month: 十月三日到五日."""
    first, last = _date(match, now), number(match["e"])
    assert first.start is not None
    return first.until(day(made(first.start.year, first.start.month, last)))


def _weekdays(match: re.Match[str], now: date) -> Span:
    """Several days of one week: 上周一到周三."""
    weeks = _offset(match["which"])
    first, last = (weekday(now, 6 if name in "日天" else number(name) - 1, weeks) for name in (match["d"], match["e"]))
    return first.until(last)


def _half(match: re.Match[str], now: date) -> Span:
    """Half a year or half a month ago."""
    return back(now, "month", 6) if match["unit"] == "年" else back(now, "week", 2)


Meaning = Callable[[re.Match[str], date], Span | None]


def _rule(pattern: str, meaning: Meaning) -> tuple[re.Pattern[str], Meaning]:
    return re.compile(pattern), meaning


def _days_off(days: int) -> Meaning:
    return lambda match, now: day(shifted(now, days))


RULES: Final = (
    _rule("大前[天日]", _days_off(-3)),
    _rule("(?<!大)前[天日]", _days_off(-2)),
    _rule("昨[天日晚夜儿]", _days_off(-1)),
    _rule("今[天日晚早晨夜]|今儿", _days_off(0)),
    _rule("(?<![之以目提])前晚", _days_off(-2)),
    _rule("明[天日晚早]", _days_off(1)),
    _rule("(?<!大)(?<!以|之|今)后天", _days_off(2)),
    _rule("大后天", _days_off(3)),
    _rule(
        "(?P<which>上+|本|这|下+)一?个?(?P<unit>周|星期|礼拜|月|季度)(?![一二三四五六日天末0-9])",
        lambda m, now: unit_at(now, _UNITS[m["unit"]], _offset(m["which"])),
    ),
    _rule("(?P<said>今年|去年|前年|明年|(?<!今)后年)", lambda m, now: unit_at(now, "year", _SAID[m["said"]])),
    _rule("上一年(?!级)|本年度", lambda m, now: unit_at(now, "year", _offset(m[0]))),
    _rule(f"{_A_YEAR}(?:今天|今日)", _this_day),
    _rule(f"{_A_YEAR}年?(?P<part>[初底末]|[春夏秋冬](?=[天季]))[天季]?", _part_of_year),
    _rule("(?<![0-9零〇一二两三四五六七八九十百几多半])(?P<year>)(?P<said>)年(?P<part>[初底末])", _part_of_year),
    _rule(f"{_YEAR}(?P<part>[上下]半)年", _part_of_year),
    _rule(f"(?P<which>上+|本|这|下+)一?个?{_WEEK}(?P<d>[一二三四五六日天末])", _weekday),
    _rule(
        f"(?P<which>上+|本|这|下+)一?个?{_WEEK}(?P<d>[一二三四五六日天]){_TO}{_WEEK}?(?P<e>[一二三四五六日天])",
        _weekdays,
    ),
    _rule("半个?(?P<unit>年|月)(?:之|以)?前", _half),
    _rule(
        "(?:最近|近|过去)的?半个?(?P<unit>年|月)",
        lambda m, now: days_from(now, -1 - length(_UNITS[m["unit"]], 1) // 2),
    ),
    _rule(
        "(?:最近|近|过去)的?(?P<n>[0-9]{1,4})个?(?:小时|钟头)",
        lambda m, now: days_from(now, -2 - int(m["n"]) // 24),
    ),
    _rule(
        f"(?:最近|近|过去|这|前)的?(?P<n>{_NUM}|几)个?{_UNIT}(?!前)",
        lambda m, now: days_from(now, -1 - length(_UNITS[m["unit"]], _count(m))),
    ),
    _rule(
        f"(?:未来|接下来|今后|往后)的?(?P<n>{_NUM}|几)个?{_UNIT}",
        lambda m, now: days_from(now, 1 + length(_UNITS[m["unit"]], _count(m))),
    ),
    _rule(f"(?P<n>{_NUM}|几)(?!月)个?{_UNIT}(?:之|以)?前", lambda m, now: back(now, _UNITS[m["unit"]], _count(m))),
    _rule(f"(?P<n>{_NUM}|几)(?!月)个?{_UNIT}(?:之|以)?后", lambda m, now: back(now, _UNITS[m["unit"]], -_count(m))),
    _rule(
        f"(?<![0-9]){_YEAR}(?P<m>{_DATE_NUM})月份?(?P<part>初|中旬|中|底|末|上旬|下旬)?(?![0-9一二三四五六七八九十])",
        _month,
    ),
    _rule(f"(?<![0-9]){_YEAR}(?P<m>{_DATE_NUM})月(?P<d>{_DATE_NUM})(?:[日号]|(?![0-9]))", _date),
    _rule(
        f"(?<![0-9]){_YEAR}(?P<m>{_DATE_NUM})月(?P<d>{_DATE_NUM})[日号]?{_TO}(?P<e>{_DATE_NUM})(?:[日号]|(?![0-9月]))",
        _days,
    ),
    _rule(f"(?P<which>上+|本|这|下+)一?个?月(?P<d>{_DATE_NUM})[日号]", _of_relative_month),
    _rule("(?P<which>上+|本|这|下+)个?月(?P<part>初|中旬|中|底|末|上旬|下旬)", _relative_month_part),
    _rule(
        "(?P<year>(?:19|20)[0-9]{2}|[一二][零〇一二三四五六七八九]{3})(?P<said>)年(?![0-9一二三四五六七八九十]{1,2}月)",
        lambda m, now: unit_at(made(_year(m, now) or now.year, 1, 1), "year", 0),
    ),
    _rule(f"{_YEAR}第?(?P<q>[一二三四1-4])季度", _quarter),
    _rule(f"{_YEAR}(?P<name>{'|'.join(_HOLIDAYS)})节?", _holiday),
)  # fmt: skip

RELATIONS: Final[tuple[tuple[re.Pattern[str], Callable[[Span], Span]], ...]] = (
    (re.compile("(?:之前|以前|前)(?!台|端|后)"), lambda span: Span(None, span.start)),
    (re.compile("(?:之后|以后|后)(?!台|端|来)"), lambda span: Span(span.end, None)),
    (re.compile("(?:以来|起|至今)"), lambda span: Span(span.start, None)),
    (re.compile("(?:为止|截止)"), lambda span: Span(None, span.end)),
)  # fmt: skip
"""What stands after a period and opens one of its sides."""
