"""Dates and times of day as people write them, in English and Chinese."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from .numerals import number

_MONTHS: Final = {
    name: index
    for index, names in enumerate(
        [
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ],
        start=1,
    )
    for name in names.split()
}
_WEEKDAYS: Final = {
    name: index
    for index, names in enumerate(
        [
            "monday mon",
            "tuesday tue tues",
            "wednesday wed",
            "thursday thu thurs",
            "friday fri",
            "saturday sat",
            "sunday sun",
        ]
    )
    for name in names.split()
}
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_WEEKDAY: Final = "|".join(sorted(_WEEKDAYS, key=len, reverse=True))
_HAN: Final = r"[〇一二三四五六七八九十]{1,3}"
_DAY: Final = re.compile(
    rf"(?P<iso>\b(?P<y1>\d{{4}})-(?P<m1>\d{{2}})-(?P<d1>\d{{2}})\b)"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+(?P<m2>{_MONTH})\b\.?(?:,?\s+(?P<y2>(?:19|20)\d\d)\b)?"
    rf"|\b(?P<m3>{_MONTH})\b\.?\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(?P<y3>(?:19|20)\d\d)\b)?"
    rf"|(?P<last>\bend of\s+)?\b(?P<m4>{_MONTH})\b(?:\s+(?P<y4>(?:19|20)\d\d)\b)?"
    rf"|(?:(?P<y5>(?:19|20)\d\d|[〇一二三四五六七八九]{{4}})\s?年\s?)?(?P<m5>\d{{1,2}}|"
    rf"{_HAN})\s?月\s?(?P<d5>\d{{1,2}}|{_HAN})\s?[日号]"
    rf"|(?<![个\d一二三四五六七八九十])(?P<m6>\d{{1,2}}|{_HAN})\s?月份?(?![一-鿿]?[日号])(?P<last6>底)?"
    rf"|\b(?P<w1>{_WEEKDAY})s?\b"
    r"|(?<![零一二两三四五六七八九十\d])(?:周|星期|礼拜)(?P<w2>[一二三四五六日天])(?![个轮次])"
    r"|\bin\s+(?P<y7>(?:19|20)\d\d)\b|(?P<y8>(?:19|20)\d\d)\s?年",
    re.IGNORECASE,
)
_AMBIGUOUS: Final = re.compile(r"may|mar|mon|sat|sun|wed|sep|dec|jan", re.IGNORECASE)
LAST_DAY: Final = 31
"""Stands for the end of a month, whatever its length."""


@dataclass(frozen=True, slots=True)
class Day:
    """As much of a date as was said. ``weekday`` 0 is Monday; a ``day`` of 31 may be the month's last."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None

    @property
    def dimension(self) -> str:
        """``date``, ``month``, ``year`` or ``weekday``: what can be compared with one another."""
        if self.weekday is not None:
            return "weekday"
        return "date" if self.day is not None else "month" if self.month is not None else "year"

    def matches(self, other: Day) -> bool | None:
        """Whether both can be the same day; ``None`` if they share no part."""
        pairs = [
            (self.year, other.year),
            (self.month, other.month),
            (self.day, other.day),
            (self.weekday, other.weekday),
        ]
        shared = [(a, b) for a, b in pairs if a is not None and b is not None]
        return all(a == b for a, b in shared) if shared else None


@dataclass(frozen=True, slots=True)
class Clock:
    """Seconds of the day, ``low``…``high``; ``offsets`` are the zone's possible hours ahead of UTC, joined by ``|``.

    ``half_unknown``: a bare hour, morning or afternoon.
    """

    low: float
    high: float
    start: int
    end: int
    half_unknown: bool = False
    offsets: str = ""


def days(text: str) -> Iterator[tuple[Day, int, int]]:
    """The dates of ``text``, each with its place."""
    for match in _DAY.finditer(text):
        day = _day(match)
        lone = match["m4"] or match["w1"]
        if lone and _AMBIGUOUS.fullmatch(lone) and not lone[0].isupper():
            continue  # the verb "may", "sat", "wed"
        if lone and lone.casefold() in ("may", "mar", "sun", "mon") and not _says_month(text, match):
            continue
        yield day, match.start(), match.end()


def _says_month(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - 10) : match.start()].casefold()
    return bool(
        re.search(r"\b(in|of|since|until|till|by|before|after|late|early|mid|the|from|to|this|last|next)[\s-]$", before)
    )


def _day(match: re.Match[str]) -> Day:
    if (weekday := match["w1"]) is not None:
        return Day(weekday=_WEEKDAYS[weekday.casefold()])
    if (weekday := match["w2"]) is not None:
        return Day(weekday=6 if weekday in "日天" else "一二三四五六".index(weekday))
    part = {name: next((match[key] for key in keys if match[key]), None) for name, keys in _PARTS.items()}
    month = part["month"]
    day = LAST_DAY if match["last"] or match["last6"] else _int(part["day"])
    return Day(_int(part["year"]), _MONTHS.get((month or "").casefold()) or _int(month), day)


_PARTS: Final = {
    "year": ("y1", "y2", "y3", "y4", "y5", "y7", "y8"),
    "month": ("m1", "m2", "m3", "m4", "m5", "m6"),
    "day": ("d1", "d2", "d3", "d5"),
}


def _int(text: str | None) -> int | None:
    value = number(text) if text else None
    return None if value is None else int(value)


_HALF_OF_DAY: Final = "凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|深夜|今晚|当晚|晚|早"
_HOUR: Final = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_CLOCK: Final = re.compile(
    rf"\b(?P<h1>[01]?\d|2[0-4]):(?P<m1>[0-5]\d)(?::[0-5]\d)?\s?(?P<p1>[ap]\.?m\b\.?)?(?:Z\b)?"
    rf"|\b(?P<h2>\d{{1,2}}|{_HOUR})\s?(?:(?P<p2>[ap]\.?m\b\.?)|o'clock)"
    r"|\b(?P<noon>noon|midday)\b|\b(?P<midnight>midnight)\b|(?P<noon_zh>正午)|(?P<midnight_zh>午夜|零点)"
    rf"|(?P<zh>{_HALF_OF_DAY})?(?:(?P<from>\d{{1,2}})\s?[-–—到至]\s?)?(?P<h3>\d{{1,2}}|"
    rf"[一二两三四五六七八九十]{{1,3}})\s?点(?!击|数|评|都|也|儿|点)(?:钟)?(?P<m3>半|一刻|三刻|(?:\d{{1,2}}|"
    rf"[一二三四五六七八九十]{{1,3}})分?)?"
    rf"|(?<=\bat\s|\bby\s)(?P<h4>\d{{1,2}}|{_HOUR})(?=\s*(?:[.,;!?]|$)|\s+(?:in|on|every|each|and|sharp|as)\b)",
    re.IGNORECASE,
)
_ZONES: Final = {
    "utc": (0,),
    "gmt": (0,),
    "cet": (1,),
    "cest": (2,),
    "bst": (1,),
    "est": (-5,),
    "edt": (-4,),
    "pst": (-8,),
}
_ZONE_NEAR: Final = re.compile(
    r"\s*(?:\((?P<in>[A-Z][\w/]+)\)|(?P<code>UTC|GMT|CES?T|BST|E[SD]T|PST|CST)\b|in (?P<city>[A-Z]\w+)|"
    r"(?P<path>[A-Z]\w+/[A-Z]\w+))"
)
_BEIJING: Final = re.compile(r"北京时间\S{0,2}$")


def clocks(text: str) -> Iterator[Clock]:
    """The times of day of ``text``; ``7:00-10:00`` and ``七点到十点`` are one, with a low and a high end."""
    last: Clock | None = None
    for match in _CLOCK.finditer(text):
        clock = _clock(text, match)
        if clock is None:
            continue
        if last is not None and re.fullmatch(r"\s?(?:-|–|—|to|and|until|开?到|至)\s?", text[last.end : clock.start]):
            low, high = last.low, clock.high
            if high <= low and clock.half_unknown:
                high += 43_200
            elif clock.half_unknown and low >= 43_200:
                high = high + 43_200 if high < 43_200 else high
            last = Clock(low, high, last.start, clock.end, last.half_unknown, last.offsets or clock.offsets)
            continue
        if last is not None:
            yield last
        last = clock
    if last is not None:
        yield last


def _clock(text: str, match: re.Match[str]) -> Clock | None:
    minute, unknown = 0.0, False
    if match["noon"] or match["noon_zh"]:
        hour = 12.0
    elif match["midnight"] or match["midnight_zh"]:
        hour = 0.0
    else:
        told = number(match["h1"] or match["h2"] or match["h3"] or match["h4"] or "")
        if told is None or told > 24:
            return None
        half = (match["p1"] or match["p2"] or "").casefold()
        hour, unknown = _hour(told, half, match["zh"] or "", written=bool(match["h1"]))
        minute = _minute(match["m1"] or match["m3"] or "")
    end = match.start() + len(match[0].rstrip())
    offsets = ""
    if zone := _ZONE_NEAR.match(text, end):
        offsets = _offsets(zone["code"] or zone["city"] or zone["path"] or zone["in"] or "")
    elif _BEIJING.search(text[: match.start()]):
        offsets = "8"
    seconds = hour % 24 * 3600 + minute * 60
    if match["from"] is not None:
        return Clock(float(match["from"]) * 3600, seconds, match.start(), end, unknown and hour < 13, offsets)
    return Clock(seconds, seconds, match.start(), end, unknown, offsets)


def _hour(told: float, half: str, zh: str, *, written: bool) -> tuple[float, bool]:
    if half:
        return told % 12 + (12 if half.startswith("p") else 0), False
    if zh in ("下午", "傍晚", "晚上", "夜里", "深夜", "今晚", "当晚", "晚") and told < 12:
        return (told + 12, False) if told >= 4 or zh in ("下午", "傍晚") else (told, False)
    if zh == "中午" and told <= 2:
        return told + 12, False
    return told, not written and not zh and told <= 12


def _minute(text: str) -> float:
    fixed = {"": 0.0, "半": 30.0, "一刻": 15.0, "三刻": 45.0}
    return fixed[text] if text in fixed else number(text.removesuffix("分")) or 0.0


def _offsets(zone: str) -> str:
    if zone.casefold() in _ZONES:
        return "|".join(map(str, _ZONES[zone.casefold()]))
    if zone == "CST":
        return "8|-6"
    name = _cities().get(zone.rsplit("/", 1)[-1].casefold())
    return _of_zone(name) if name else ""


@functools.cache
def _cities() -> dict[str, str]:
    return {name.rsplit("/", 1)[-1].casefold(): name for name in sorted(available_timezones()) if "/" in name}


@functools.cache
def _of_zone(name: str) -> str:
    """Winter's and summer's hours ahead of UTC."""
    zone = ZoneInfo(name)
    found = []
    for month in (1, 7):
        ahead = datetime(2026, month, 1, tzinfo=zone).utcoffset()
        if ahead is not None:
            found.append(ahead.total_seconds() / 3600)
    return "|".join(dict.fromkeys(f"{hours:g}" for hours in found))
