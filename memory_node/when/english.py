"""Expressions of time in English. Every rule is tried on lower-cased text."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Final, Literal

from .calendar import (
    Span,
    Unit,
    back,
    day,
    day_without_year,
    days_from,
    last_weekday,
    length,
    made,
    month,
    month_without_year,
    part,
    shifted,
    unit_at,
    weekday,
)

_MONTHS: Final = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_DAYS: Final = "monday tuesday wednesday thursday friday saturday sunday".split()  # noqa: SIM905
_NUMBERS: Final = {
    word: number
    for number, words in enumerate(
        ("a an one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
    for word in words.split()
} | {"couple": 2, "few": 4, "several": 5}

_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY_NUMBER: Final = r"(?:3[01]|[12]?\d|0[1-9])(?:st|nd|rd|th)?"
_DAY: Final = r"(?P<day>3[01]|[12]?\d|0[1-9])(?:st|nd|rd|th)?"
_FROM: Final = r"\b(?:from |between )?"
_TO: Final = r"(?: ?[-–—] ?| (?:to|through|until|till) (?:the )?)"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_WEEKDAY: Final = (
    r"(?P<weekday>mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?"
    r"|sun(?:day)?)"
)
_UNIT: Final = r"(?P<unit>day|week|month|quarter|year)"
_COUNT: Final = (
    r"(?:(?P<count>\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|few|several)"
    r"|(?:a )?(?P<couple>couple|few))(?: of)?"
)
_WHICH: Final = r"(?P<which>last|past|previous|this|current|next|coming|following)"
_OFFSET: Final = {
    "last": -1,
    "past": -1,
    "previous": -1,
    "this": 0,
    "current": 0,
    "next": 1,
    "coming": 1,
    "following": 1,
}
_HALF: Final[dict[str, tuple[Unit, int]]] = {"year": ("month", 6), "month": ("week", 2)}
_AMBIGUOUS: Final = frozenset({"may", "march", "mar", "sep", "dec", "jan", "jun", "oct", "nov"})
PART_OF_IT: Final = frozenset({"early", "mid", "late", "this", "last", "next"})
"""Words before a month that choose which one, or a part of it."""
_PARTS: Final[dict[str, Literal["early", "mid", "late"]]] = {
    "beginning": "early", "start": "early", "middle": "mid", "end": "late",
}  # fmt: skip
# "may" is mostly a verb: as a month it needs a word that goes before times.
_BEFORE_MONTH: Final = (
    r"(?P<lead>\b(?:in|during|since|until|till|by|before|after|of|for|from|to|between|and|early|mid|late|this|last"
    r"|next)[ -])"
)


def _unit(match: re.Match[str]) -> Unit:
    unit = match["unit"]
    assert unit in ("day", "week", "month", "quarter", "year")
    return unit  # type: ignore[return-value]  # one of the literals, as the pattern says


def _month(match: re.Match[str]) -> int:
    return next(number for number, name in enumerate(_MONTHS, 1) if name.startswith(match["month"][:3]))


def _weekday(match: re.Match[str]) -> int:
    return next(number for number, name in enumerate(_DAYS) if name.startswith(match["weekday"][:3]))


def _count(match: re.Match[str]) -> int:
    word = match["count"] or match["couple"]
    return _NUMBERS[word] if word in _NUMBERS else int(word)


def _of_month(match: re.Match[str], now: date) -> Span:
    if match["year"]:
        return month(int(match["year"]), _month(match))
    return month_without_year(now, _month(match))


def _bare_month(match: re.Match[str], now: date) -> Span | None:
    if match["month"] in _AMBIGUOUS and not (match["lead"] or match["year"]):
        return None
    lead = (match["lead"] or "").strip(" -")
    if lead in {"last", "next", "this"} and not match["year"]:
        number = _month(match)
        if lead == "this":
            return month(now.year, number)
        if lead == "last":
            return month(now.year - (number >= now.month), number)
        return month(now.year + (number <= now.month), number)
    span = _of_month(match, now)
    return part(span, lead) if lead in {"early", "mid", "late"} else span  # type: ignore[arg-type]  # just looked


def _day_of_month(match: re.Match[str], now: date) -> Span:
    number, of_month = _month(match), int(match["day"])
    if match["year"]:
        return day(made(int(match["year"]), number, of_month))
    return day_without_year(now, number, of_month)


def _days(match: re.Match[str], now: date) -> Span:
    """Several days of one month: 3 to 5 October."""
    first = _day_of_month(match, now)
    assert first.start is not None
    return first.until(day(made(first.start.year, first.start.month, int(match["last"].rstrip("stndrh")))))


def _which_unit(match: re.Match[str], now: date) -> Span:
    """A week of the calendar (last, next); "the past week" are the days up to now."""
    unit = _unit(match)
    if match["which"] == "past":
        return days_from(now, -1 - length(unit, 1))
    return unit_at(now, unit, _OFFSET[match["which"]])


def _piece_of_month(match: re.Match[str], now: date) -> Span | None:
    span = _of_month(match, now)
    assert span.start is not None
    assert span.end is not None
    which, piece = match["piece"], match["unit"]
    ordinal = {"first": 0, "second": 1, "third": 2, "fourth": 3}.get(which)
    if piece in {"day", "days"}:
        return day(shifted(span.end, -1)) if which == "last" else day(shifted(span.start, ordinal or 0))
    if piece == "week":
        if which == "last":
            return Span(shifted(span.end, -7), span.end)
        first = shifted(span.start, 7 * (ordinal or 0))
        return Span(first, shifted(first, 7))
    half = shifted(span.start, (span.end - span.start).days // 2)
    return Span(half, span.end) if which in {"second", "last"} else Span(span.start, half)


def _named_weekday(match: re.Match[str], now: date) -> Span | None:
    number, which = _weekday(match), match["which"]
    if which is None:  # bare, it is mostly a habit: the Monday meeting
        return last_weekday(now, number) if match["on"] or match["lead"] else None
    if _OFFSET[which] < 0:
        return last_weekday(now, number)
    if which == "this":
        return weekday(now, number, 0)
    ahead = (number - now.weekday() - 1) % 7 + 1
    return day(shifted(now, ahead))


def _some(match: re.Match[str], now: date) -> Span:
    days = length(_unit(match), _count(match))
    return days_from(now, days + 1) if _OFFSET[match["which"]] > 0 else days_from(now, -days - 1)


def _iso(match: re.Match[str], now: date) -> Span:
    return day(made(int(match["year"]), int(match["m"]), int(match["d"])))


def _rule(
    pattern: str, meaning: Callable[[re.Match[str], date], Span | None]
) -> tuple[re.Pattern[str], Callable[[re.Match[str], date], Span | None]]:
    return re.compile(pattern), meaning


def _days_off(days: int) -> Callable[[re.Match[str], date], Span]:
    return lambda match, now: day(shifted(now, days))


def _season(match: re.Match[str], now: date) -> Span | None:
    first = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}[match["season"]]
    if match["year"]:
        year = int(match["year"])
    elif match["which"] in {"last", "past", "previous"}:
        year = now.year - (first + 2 >= now.month)
    elif match["which"] is None and match["season"] == "fall":
        return None
    else:
        year = now.year
    return month(year, first).until(month(year, first + 2))


def _coming(match: re.Match[str], now: date) -> Span:
    return days_from(now, length(_unit(match), _count(match)) + 1)


def _quarter(match: re.Match[str], now: date) -> Span:
    year, last = int(match["year"] or now.year), 3 * int(match["q"])
    return month(year, last - 2).until(month(year, last))


def _weekend(match: re.Match[str], now: date) -> Span:
    offset = _OFFSET[match["which"]] if match["which"] else 0
    if match["which"] is None and now.weekday() < 5:
        offset = -1  # people speak of what was
    saturday = shifted(now, 7 * offset - now.weekday() + 5)
    return Span(saturday, shifted(saturday, 2))


RULES: Final = (
    _rule(r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b", _days_off(0)),
    _rule(r"\b(?:yesterday|last night)\b", _days_off(-1)),
    _rule(r"\b(?:the )?day before yesterday\b", _days_off(-2)),
    _rule(r"\btomorrow\b", _days_off(1)),
    _rule(r"\b(?:the )?day after tomorrow\b", _days_off(2)),
    _rule(rf"\b{_WHICH} {_UNIT}(?!s)\b", _which_unit),
    _rule(
        r"\b(?:this day last year|(?:a|one) year ago today)\b",
        lambda m, now: day(made(now.year - 1, now.month, now.day)),
    ),
    _rule(r"\bhalf an? (?P<unit>year|month) ago\b", lambda m, now: back(now, *_HALF[m["unit"]])),
    _rule(rf"\b(?:last|past) {_COUNT} hours?\b", lambda m, now: days_from(now, -2 - _count(m) // 24)),
    _rule(
        rf"\b(?:the )?{_UNIT} before (?:last|the last(?: one)?|(?:this|that) one)\b",
        lambda m, now: unit_at(now, _unit(m), -1 if m[0].endswith(("this one", "that one")) else -2),
    ),
    _rule(rf"\b(?:the )?{_UNIT} after next\b", lambda m, now: unit_at(now, _unit(m), 2)),
    _rule(rf"\b{_WHICH} {_COUNT} {_UNIT}s?\b", _some),
    _rule(rf"\b{_COUNT} {_UNIT}s? (?:ago|back|earlier)\b", lambda m, now: back(now, _unit(m), _count(m))),
    _rule(rf"\b{_COUNT} {_UNIT}s? from now\b", lambda m, now: back(now, _unit(m), -_count(m))),
    _rule(rf"\b(?:in|within) {_COUNT} {_UNIT}s?\b(?! of)", _coming),
    _rule(rf"(?:(?P<on>\bon )|(?P<lead>\bsince ))?\b(?:{_WHICH} )?{_WEEKDAY}\b(?!s)", _named_weekday),
    _rule(rf"\b(?:{_WHICH} |(?:over|at|on) the )weekend\b", _weekend),
    _rule(rf"{_FROM}(?:the )?{_DAY}{_TO}(?P<last>{_DAY_NUMBER})(?: of)? {_MONTH}(?:,? {_YEAR})?\b", _days),
    _rule(rf"{_FROM}{_MONTH} {_DAY}{_TO}(?P<last>{_DAY_NUMBER})(?:,? {_YEAR})?\b(?!-)", _days),
    _rule(rf"\b{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?\b", _day_of_month),
    _rule(rf"\b{_MONTH} (?:the )?{_DAY}(?!\d)(?:,? {_YEAR})?\b", _day_of_month),
    _rule(rf"{_BEFORE_MONTH}?\b{_MONTH}(?:(?: of|,)? {_YEAR})?\b(?! \d)", _bare_month),
    _rule(
        r"\b(?:the )?(?P<piece>first|second|third|fourth|last) (?P<unit>day|week|half) (?:of|in) "
        rf"{_MONTH}(?:,? {_YEAR})?\b",
        _piece_of_month,
    ),
    _rule(
        rf"\b(?:the )?(?P<part>beginning|start|middle|end) of {_MONTH}(?:,? {_YEAR})?\b",
        lambda m, now: part(_of_month(m, now), _PARTS[m["part"]]),
    ),
    _rule(
        rf"\b(?:in|during|of|since|by|until|before|after|for) {_YEAR}\b(?![-/.]\d)",
        lambda m, now: unit_at(made(int(m["year"]), 1, 1), "year", 0),
    ),
    _rule(rf"\bq(?P<q>[1-4])(?:,? (?:of )?{_YEAR})?\b", _quarter),
    _rule(rf"\b(?:{_WHICH} |in (?:the )?)(?P<season>spring|summer|autumn|fall|winter)(?: of)?(?: {_YEAR})?\b", _season),
    _rule(rf"(?<![\d.-]){_YEAR}[-/.](?P<m>0?[1-9]|1[0-2])[-/.](?P<d>3[01]|[12]\d|0?[1-9])(?![\d.-])", _iso),
    _rule(rf"(?<![\d.-]){_YEAR}[-/](?P<m>0[1-9]|1[0-2])(?![\d./-])", lambda m, now: month(int(m["year"]), int(m["m"]))),
)  # fmt: skip

_THE: Final = r"(?:the )?$"
RELATIONS: Final[tuple[tuple[re.Pattern[str], Callable[[Span], Span]], ...]] = (
    (re.compile(rf"\b(?:as of|up to|until|till|through) {_THE}"), lambda span: Span(None, span.end)),
    (re.compile(rf"\b(?:before|prior to|earlier than) {_THE}"), lambda span: Span(None, span.start)),
    (re.compile(rf"\bby {_THE}"), lambda span: Span(None, span.end)),
    (re.compile(rf"\b(?:since|from) {_THE}"), lambda span: Span(span.start, None)),
    (re.compile(rf"\b(?:after|later than) {_THE}"), lambda span: Span(span.end, None)),
)  # fmt: skip
"""What stands before a period and opens one of its sides."""
