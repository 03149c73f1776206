"""Days as terms: ``12 June``, ``June 12th``, ``6月12日`` and ``2026-06-12`` match each other."""

from __future__ import annotations

import re
from typing import Final

_MONTHS: Final = {
    name: number
    for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)  # noqa: SIM905
}
_WEEKDAYS: Final = dict(zip("一二三四五六日天", ("mon", "tue", "wed", "thu", "fri", "sat", "sun", "sun"), strict=True))
_MONTH: Final = (
    r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_NUMERALS: Final = "[0-9一二三四五六七八九十]{1,3}"
_DIGITS: Final = {c: n for n, c in enumerate("零一二三四五六七八九")}
_SHORT: Final = "|".join(_MONTHS)
_MIGHT: Final = re.compile(
    rf"[月周]|星期|礼拜|day\b|\d\d[-/]\d|\d[a-z]{{0,2}}(?: of)? (?:{_SHORT})|(?:{_SHORT})[a-z]* \d"
)
"""What any match of the pattern has; most texts have none of it, and looking for this takes a third of the time."""
_PATTERN: Final = re.compile(
    rf"(?<![\d.])(?P<d1>3[01]|[12]?\d)(?:st|nd|rd|th)?(?: of)? {_MONTH.format('m1')}\b"
    rf"|\b{_MONTH.format('m2')} (?P<d2>3[01]|[12]?\d)(?:st|nd|rd|th)?\b(?![.:]\d)"
    rf"|(?P<m3>{_NUMERALS})月(?P<d3>{_NUMERALS})[日号]?"
    r"|(?<![\d-])(?:19|20)\d\d[-/](?P<m4>[01]?\d)[-/](?P<d4>[0-3]?\d)(?![\d-])"
    r"|(?:周|星期|礼拜)(?P<w1>[一二三四五六日天])"
    r"|\b(?P<w2>mon|tues|wednes|thurs|fri|satur|sun)day\b"
)


def calendar_terms(text: str) -> list[str]:
    """A term for each day of the year (``@06-12``) and of the week (``@fri``) that the folded ``text`` names."""
    if not _MIGHT.search(text):
        return []
    return [term for match in _PATTERN.finditer(text) if (term := _term(match)) is not None]


def _term(match: re.Match[str]) -> str | None:
    if match["w1"]:
        return f"@{_WEEKDAYS[match['w1']]}"
    if match["w2"]:
        return f"@{match['w2'][:3]}"
    name = match["m1"] or match["m2"]
    month = _MONTHS[name[:3]] if name else _number(match["m3"] or match["m4"])
    day = _number(match["d1"] or match["d2"] or match["d3"] or match["d4"])
    return f"@{month:02}-{day:02}" if 1 <= month <= 12 and 1 <= day <= 31 else None


def _number(text: str) -> int:
    if text.isascii():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    units = int("".join(str(_DIGITS.get(c, c)) for c in ones)) if ones else 0
    return 10 * (_number(tens) if tens else 1) + units if ten else units
