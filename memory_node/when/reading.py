"""Finding expressions of time in a text, and what they mean on the day it was said."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from ..simplified import simplified
from .calendar import OutOfCalendar, Period, Span
from .chinese import RELATIONS as CHINESE_RELATIONS
from .chinese import RULES as CHINESE
from .english import PART_OF_IT
from .english import RELATIONS as ENGLISH_RELATIONS
from .english import RULES as ENGLISH

Rule: TypeAlias = tuple[re.Pattern[str], Callable[[re.Match[str], date], Span | None]]

MAX_CHARACTERS: Final = 4000
"""Of a text that are read: whoever pastes a log does not ask about a time."""

_HAN: Final = re.compile("[\u4e00-\u9fff]")


def periods(text: str, now: datetime, zone: ZoneInfo | None = None) -> list[Period]:
    """The periods that ``text`` speaks of, in order, as meant at ``now`` (with its offset; ``zone`` overrides it).

    A date without a year is the latest one that is not more than a month ahead.
    """
    text = text[:MAX_CHARACTERS]
    local = now.astimezone(zone) if zone else now
    assert local.tzinfo is not None
    today = local.date()
    lowered = simplified(text.lower())
    rules: list[Rule] = list(ENGLISH)
    chinese = bool(_HAN.search(text))
    if chinese:
        rules += CHINESE
    found = _joined(lowered, _longest(lowered, today, rules), chinese=chinese)
    return [Period.of(text[start:end], span, local.tzinfo) for start, end, span in found]


_Found: TypeAlias = tuple[int, int, Span]


def _longest(text: str, today: date, rules: Sequence[Rule]) -> list[_Found]:
    """All that is found, the longest where expressions overlap (and of these the first)."""
    found: list[_Found] = []
    for pattern, meaning in rules:
        for match in pattern.finditer(text):
            try:
                span = meaning(match, today)
            except OutOfCalendar:
                continue
            if span is not None:
                found.append((_start(match), match.end(), span))
    found.sort(key=lambda each: (each[0] - each[1], each[0]))
    taken: list[_Found] = []
    for start, end, span in found:
        if all(end <= other_start or start >= other_end for other_start, other_end, _ in taken):
            taken.append((start, end, span))
    return sorted(taken, key=lambda each: each[0])


def _start(match: re.Match[str]) -> int:
    """Where an expression begins: a preposition before it is not of it, but says what is made of it."""
    lead = match.groupdict().get("lead")
    return match.end("lead") if lead and lead.strip(" -") not in PART_OF_IT else match.start()


_BETWEEN: Final = re.compile(r"\s*(?:and|to|until|till|through|[-–—~～]|到|至|和)\s*(?:the\s+)?")


def _joined(text: str, found: Sequence[_Found], *, chinese: bool) -> list[_Found]:
    """``from A to B`` as one, and what ``before`` and the like make of a period."""
    joined: list[_Found] = []
    pairs: set[int] = set()
    for start, end, span in found:
        if joined:
            before_start, before_end, before = joined[-1]
            between = text[before_end:start]
            opened = re.search(r"(?:between|from|从|自)\s*(?:the\s+)?$", text[:before_start])
            if _BETWEEN.fullmatch(between) and (opened or between.strip() in {"-", "–", "—", "~", "～", "到", "至"}):
                joined[-1] = (before_start, end, before.until(span))
                pairs.add(before_start)
                continue
        joined.append((start, end, span))
    return [each if each[0] in pairs else _related(text, each, chinese=chinese) for each in joined]


def _related(text: str, found: _Found, *, chinese: bool) -> _Found:
    start, end, span = found
    for pattern, relation in ENGLISH_RELATIONS:
        if match := pattern.search(text[max(0, start - 24) : start]):
            return start - len(match[0]), end, relation(span)
    if chinese:
        for pattern, relation in CHINESE_RELATIONS:
            if match := pattern.match(text[end : end + 4]):
                return start, end + len(match[0]), relation(span)
    return found
