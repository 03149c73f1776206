"""Days, weeks, months and years around a day: what expressions of time are resolved against."""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final, Literal, TypeAlias

Unit: TypeAlias = Literal["day", "week", "month", "quarter", "year"]

FAR: Final = 31
"""Days that a date without a year may lie ahead before last year's is meant: people speak of what was."""


@dataclass(frozen=True, slots=True)
class Span:
    """Whole days: from ``start`` (included) to ``end`` (excluded); either may be open."""

    start: date | None
    end: date | None

    @property
    def days(self) -> int | None:
        """How many, if it is closed."""
        return None if self.start is None or self.end is None else (self.end - self.start).days

    def until(self, other: Span) -> Span:
        """From the beginning of this to the end of ``other``."""
        return Span(self.start, other.end)


@dataclass(frozen=True, slots=True)
class Period:
    """What an expression means: ``text`` is the expression, ``start`` and ``end`` (excluded) are in UTC.

    ``span`` is the same in days of the place where it was said.
    """

    text: str
    span: Span
    start: datetime | None
    end: datetime | None

    @classmethod
    def of(cls, text: str, span: Span, zone: tzinfo) -> Period:
        """``span`` in the days of ``zone``."""
        return cls(text, span, _instant(span.start, zone), _instant(span.end, zone))


class OutOfCalendar(ValueError):
    """There is no such day: the thirtieth of February, the year 0."""


def day(at: date) -> Span:
    """One day."""
    return Span(at, shifted(at, 1))


def shifted(at: date, days: int) -> date:
    """``at`` and ``days`` more.

    Raises:
        OutOfCalendar: beyond the years 1 to 9999.
    """
    try:
        return at + timedelta(days=days)
    except OverflowError as e:
        raise OutOfCalendar(str(e)) from e


def days_from(at: date, count: int) -> Span:
    """``count`` days from ``at``; backwards, ``at`` included, if it is negative."""
    return Span(at, shifted(at, count)) if count >= 0 else Span(shifted(at, count + 1), shifted(at, 1))


def month(year: int, number: int) -> Span:
    """A month; numbers outside 1…12 are of the years around.

    Raises:
        OutOfCalendar: there is no such year.
    """
    year, number = year + (number - 1) // 12, (number - 1) % 12 + 1
    return Span(made(year, number, 1), made(year + number // 12, number % 12 + 1, 1))


def made(year: int, number: int, day: int) -> date:
    """That day.

    Raises:
        OutOfCalendar: there is none.
    """
    try:
        return date(year, number, day)
    except (ValueError, OverflowError) as e:
        raise OutOfCalendar(str(e)) from e


def unit_at(at: date, unit: Unit, offset: int) -> Span:
    """The day, week (from Monday), month, quarter or year that ``at`` is in, or one ``offset`` of them later."""
    if abs(offset) > 10_000:
        raise OutOfCalendar("too far")
    match unit:
        case "day":
            return day(shifted(at, offset))
        case "week":
            monday = shifted(at, 7 * offset - at.weekday())
            return Span(monday, shifted(monday, 7))
        case "month":
            return month(at.year, at.month + offset)
        case "quarter":
            first = 3 * ((at.month - 1) // 3 + offset) + 1
            return month(at.year, first).until(month(at.year, first + 2))
        case "year":
            return Span(made(at.year + offset, 1, 1), made(at.year + offset + 1, 1, 1))


def back(at: date, unit: Unit, count: int) -> Span:
    """``count`` units before ``at`` (after it, if negative), as exactly as is meant: two months ago is a month."""
    if unit == "day":
        return unit_at(at, unit, -count)
    if unit == "week":
        middle = shifted(at, -7 * count)
        return Span(shifted(middle, -3), shifted(middle, 4))
    return unit_at(at, unit, -count)


def length(unit: Unit, count: int) -> int:
    """Days of ``count`` units, about."""
    return min(count, 100_000) * {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}[unit]


def day_without_year(now: date, number: int, of_month: int) -> Span:
    """The day of that month that is meant when no year is said.

    Raises:
        OutOfCalendar: no month has it.
    """
    for year in (now.year + 1, now.year, now.year - 1):
        if of_month == 29 and number == 2 and not calendar.isleap(year):
            continue
        at = made(year, number, of_month)
        if (at - now).days <= FAR:
            return day(at)
    return day(made(now.year - (now.year % 4 or 4), number, of_month))


def month_without_year(now: date, number: int) -> Span:
    """The month that is meant when no year is said: this year's, or last year's if that has not begun for long."""
    year = now.year
    for candidate in (year + 1, year, year - 1):
        span = month(candidate, number)
        assert span.start is not None
        if (span.start - now).days <= FAR:
            return span
    raise OutOfCalendar("no such month")


def weekday(now: date, number: int, weeks: int) -> Span:
    """A day of the week (Monday is 0) of the week that lies ``weeks`` from this one."""
    return day(shifted(now, 7 * weeks - now.weekday() + number))


def last_weekday(now: date, number: int) -> Span:
    """The latest such day before today."""
    return day(shifted(now, -((now.weekday() - number - 1) % 7 + 1)))


def part(span: Span, which: Literal["early", "mid", "late"]) -> Span:
    """A third of ``span``."""
    if span.start is None or span.end is None:
        return span
    third = max(1, (span.end - span.start).days // 3)
    match which:
        case "early":
            return Span(span.start, shifted(span.start, third))
        case "mid":
            return Span(shifted(span.start, third), shifted(span.end, -third))
        case "late":
            return Span(shifted(span.end, -third), span.end)


def _instant(at: date | None, zone: tzinfo) -> datetime | None:
    if at is None:
        return None
    try:
        return datetime.combine(at, time(), zone).astimezone(UTC)
    except OverflowError:
        return None
