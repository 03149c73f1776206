"""What a text states in figures: amounts with their units, times of day, dates, counts, in English and Chinese.

Each `Value` is an interval in the base unit of its dimension, so that "within 4 h", "inside four hours" and
"最多四小时" are the same, and 14:20 is not "before noon".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from .calendar_values import Day, clocks, days
from .cues import words
from .numerals import NUMBER, number
from .sentences import pieces
from .units import CURRENCIES, MEASURE_WORDS, UNITS, Unit

Relation: TypeAlias = Literal["equal", "consistent", "disjoint"]


@dataclass(frozen=True, slots=True)
class Value:
    """``low``…``high`` in the base unit of ``dimension``; ``noun`` says what is counted, if anything is.

    ``system`` tells unit systems apart (metric, imperial, a time zone), ``start``…``end`` is where it stands.
    """

    dimension: str
    low: float
    high: float
    text: str
    start: int
    end: int
    noun: str = ""
    approximate: bool = False
    system: str = ""
    day: Day | None = None

    @property
    def exact(self) -> bool:
        """Whether it is one figure and no bound or range."""
        return self.low == self.high


def values(text: str) -> list[Value]:
    """All values of ``text`` in order; no two of them overlap."""
    return [
        replace(value, start=value.start + start, end=value.end + start)
        for start, piece in pieces(text)
        for value in _of_piece(piece)
    ]


def _of_piece(text: str) -> list[Value]:
    found: list[Value] = []
    taken: list[tuple[int, int]] = []
    for value in _all(text):
        if not any(value.start < end and start < value.end for start, end in taken):
            found.append(value)
            taken.append((value.start, value.end))
    found.sort(key=lambda value: value.start)
    return [_bounded(text, value) for value in _summed(text, found)]


def relation(a: Value, b: Value) -> Relation | None:
    """How two values of one dimension relate; ``None`` if they are not comparable."""
    if a.dimension != b.dimension:
        return None
    if a.day is not None and b.day is not None:
        same = a.day.matches(b.day)
        return None if same is None else "equal" if same else "disjoint"
    if a.dimension == "clock":
        return _clock_relation(a, b)
    slack = 0.06 if a.approximate or b.approximate else 0.02 if a.system != b.system else 1e-9
    if _near(a.low, b.low, slack) and _near(a.high, b.high, slack):
        return "equal"
    if (a.low > b.high and not _near(a.low, b.high, slack)) or (b.low > a.high and not _near(b.low, a.high, slack)):
        return "disjoint"
    return "consistent"


def _near(x: float, y: float, slack: float) -> bool:
    if math.isinf(x) or math.isinf(y):
        return x == y
    return abs(x - y) <= slack * max(abs(x), abs(y))


def _clock_relation(a: Value, b: Value) -> Relation:
    """Seconds of the day; a bare hour ("at three") may be either half of the day, a known zone shifts."""
    shifts = {y - x for x in _offsets(a) for y in _offsets(b)} if a.system and b.system else {0.0}
    day = 86_400.0
    for shift in shifts:
        moved = (b.low - 3600 * shift, b.high - 3600 * shift)
        period = day / 2 if a.approximate or b.approximate else day
        if a.exact and b.exact:
            if (a.low - moved[0]) % period < 1:
                return "equal"
        elif _near(a.low, moved[0], 0) and _near(a.high, moved[1], 0):
            return "equal"
        elif a.low <= moved[1] and moved[0] <= a.high:
            return "consistent"
    return "disjoint"


def _offsets(value: Value) -> list[float]:
    return [float(offset) for offset in value.system.split("|")]


def _all(text: str) -> Iterator[Value]:
    for day, start, end in days(text):
        yield Value(day.dimension, 0, 0, text[start:end], start, end, day=day)
    for clock in clocks(text):
        yield Value(
            "clock", clock.low, clock.high, text[clock.start : clock.end], clock.start, clock.end,
            approximate=clock.half_unknown, system=clock.offsets,
        )  # fmt: skip
    yield from _halves(text)
    yield from _shares(text)
    yield from _amounts(text)
    yield from _counts(text)


_UNIT: Final = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_LATIN_END: Final = r"(?![A-Za-z])"
_AMOUNT: Final = re.compile(
    rf"(?P<sign>[€$£¥])?\s?(?P<low>{NUMBER})(?P<more>多)?"
    rf"(?:\s?(?:-|–|—|to|到|至)\s?(?P<high>{NUMBER}))?[-\s]?(?:个)?(?P<half>半)?\s?(?P<unit>{_UNIT}){_LATIN_END}"
    rf"(?P<tail>[一二三四五六七八九](?![零一二三四五六七八九十百千万\d]))?(?P<rest>半|\s+and\s+a\s+half\b)?",
    re.IGNORECASE,
)
_PERCENT_ZH: Final = re.compile(rf"百分之({NUMBER})")
_ONE_IN: Final = re.compile(rf"({NUMBER})\s+(?:in|out of)\s+(?:an?\s+)?({NUMBER})", re.IGNORECASE)
_DISCOUNT: Final = re.compile(r"打?([一二三四五六七八九\d](?:\.\d|[一二三四五六七八九\d])?)\s?折")
_MONEY_BEFORE: Final = re.compile(rf"(?P<sign>[€$£¥]|\b(?:EUR|USD|GBP|CNY|RMB)\s)\s?(?P<low>{NUMBER})", re.IGNORECASE)
_HALF: Final = re.compile(
    r"\bhalf\s+an?\s+(?P<en>second|minute|hour|day|year|kilo|mile)s?\b"
    r"|半个?(?P<zh>秒|分钟|小时|钟头|天|个月|月|年|公斤|斤|公里)"
    r"|\b(?:an?|one)\s+(?P<and>minute|hour|day|week|month|year|mile)s?\s+and\s+a\s+half\b"
    r"|\b(?:an?|one)\s+(?P<one>second|minute|hour|day|week|month|year|mile)\b",
    re.IGNORECASE,
)
_EN_COUNT: Final = re.compile(
    rf"(?P<low>{NUMBER})\s+(?:of\s+(?:the\s|our\s|"
    rf"their\s)?(?:(?P<whole>{NUMBER})\s+)?)?(?P<noun>(?:[a-z]+\s){{0,1}}[a-z]{{3,}}s|people|men|women|"
    rf"children)\b",
    re.IGNORECASE,
)
_ZH_COUNT: Final = re.compile(
    rf"(?P<low>{NUMBER})(?P<more>多)?\s?(?P<measure>[{''.join(MEASURE_WORDS)}])(?P<noun>人|[一-鿿]{{0,2}})"
)
_BARE: Final = re.compile(rf"(?:(?<![\w.#-])|(?<=[是为到成至共]))(?:{NUMBER})(?![\w-]|\.\d|%)", re.IGNORECASE)
# "Dock 4", "Ticket 6120", "release 7.4": a number right behind a word is part of a name.
_NAMED: Final = re.compile(r"([A-Za-z][\w-]*)[\s#-]{1,2}$")
_VERBS: Final = words(
    "least most is are was were be been to from at by of and or than about only just exactly for has have in with"
)


def _halves(text: str) -> Iterator[Value]:
    for match in _HALF.finditer(text):
        word = (match["en"] or match["zh"] or match["and"] or match["one"]).casefold()
        unit = UNITS.get(word) or UNITS["个月" if word == "月" else word]
        factor = 0.5 if match["en"] or match["zh"] else 1.5 if match["and"] else 1.0
        yield _value(unit, factor, factor, match)


def _shares(text: str) -> Iterator[Value]:
    for match in _PERCENT_ZH.finditer(text):
        if (share := number(match[1])) is not None:
            yield Value("percent", share, share, match[0], match.start(), match.end())
    for match in _DISCOUNT.finditer(text):
        if (kept := number(match[1])) is not None:
            off = 100 - (kept * 10 if kept < 10 else kept)
            yield Value("percent", off, off, match[0], match.start(), match.end())
    for match in _ONE_IN.finditer(text):
        part, whole = number(match[1]), number(match[2])
        if part is not None and whole:
            yield Value("percent", 100 * part / whole, 100 * part / whole, match[0], match.start(), match.end())


def _amounts(text: str) -> Iterator[Value]:
    for match in _AMOUNT.finditer(text):
        low, high = number(match["low"]), number(match["high"]) if match["high"] else None
        if low is None or (match["unit"] == "年" and low >= 1900) or text.endswith("第", 0, match.start()):
            continue
        if match["half"] or (match["rest"] and "年" not in match["unit"]):
            low += 0.5
        if match["tail"]:
            low += (number(match["tail"]) or 0) / 10
        value = _value(UNITS[match["unit"].casefold()], low, low if high is None else high, match)
        yield replace(value, high=value.high * 1.25, approximate=True) if match["more"] else value
    for match in _MONEY_BEFORE.finditer(text):
        if (amount := number(match["low"])) is not None:
            dimension = "money:" + CURRENCIES[match["sign"].strip().upper()]
            yield Value(dimension, amount, amount, match[0], match.start(), match.end())


def _counts(text: str) -> Iterator[Value]:
    for match in _ZH_COUNT.finditer(text):
        if (count := number(match["low"])) is not None and not text.endswith("第", 0, match.start()):
            person = match["measure"] in "位名人" or match["noun"] == "人"
            high = count * 1.25 if match["more"] else count
            end = match.end("measure")
            noun = "person" if person else MEASURE_WORDS[match["measure"]] or match["noun"]
            yield Value("count", count, high, text[match.start() : end], match.start(), end, noun=noun)
    for match in _EN_COUNT.finditer(text):
        if (count := number(match["low"])) is not None and not _label(text, match.start()):
            noun = match["noun"].casefold().split()[-1]
            noun = "person" if noun in ("people", "men", "women", "persons", "guests", "customers") else noun
            noun = noun.rstrip("s")
            yield Value("count", count, count, match["low"], match.start(), match.end("low"), noun=noun)
            whole = number(match["whole"]) if match["whole"] else None
            if whole is not None:
                yield Value("count", whole, whole, match["whole"], match.start("whole"), match.end("whole"), noun=noun)
    for match in _BARE.finditer(text):
        plain = number(match[0])
        if plain is not None and (match[0][0].isdigit() or plain >= 10):
            label = _label(text, match.start())
            yield Value("label" if label else "number", plain, plain, match[0], match.start(), match.end(), noun=label)


def _label(text: str, start: int) -> str:
    """The word that the number at ``start`` belongs to as a name, or ``""``."""
    match = _NAMED.search(text[max(0, start - 40) : start])
    return "" if match is None or match[1].casefold() in _VERBS else match[1].casefold()


def _value(unit: Unit, low: float, high: float, match: re.Match[str]) -> Value:
    return Value(
        unit.dimension,
        unit.base(min(low, high)),
        unit.base(max(low, high)),
        match[0].strip(),
        match.start(),
        match.end(),
        system=unit.system,
    )


_AND: Final = re.compile(r"\s*(?:and|,|零|又)?\s*", re.IGNORECASE)


def _summed(text: str, found: list[Value]) -> list[Value]:
    """Neighbouring durations are one: 3 h 10 min."""
    result: list[Value] = []
    for value in found:
        last = result[-1] if result else None
        if (
            last is not None
            and value.dimension == last.dimension == "duration"
            and value.exact
            and value.low < last.low
            and _AND.fullmatch(text[last.end : value.start])
        ):
            total = last.low + value.low
            result[-1] = replace(last, low=total, high=total, text=text[last.start : value.end], end=value.end)
        else:
            result.append(value)
    return result


_LEAST: Final = r"at least|no (?:fewer|less) than|a minimum of|minimum(?: of)?|至少|不少于|不低于|最少|起码|满|达到|达"
_MORE: Final = (
    r"(?:more|longer|greater|later|higher) than|over|above|exceed(?:s|ing)?|after|超过|多于|高于|大于|逾|晚于"
)
_MOST: Final = (
    r"at most|no (?:more|later|longer|greater) than|not more than|up to|a maximum of|maximum(?: \w+){0,4}:?|max\.?|"
    r"within|inside|limit(?: \w+){0,4} (?:is|of)|限重|上限是?|最多\w?|最大|最高|最长|不超过|至多|不多于|以内|by"
)
_LESS: Final = r"(?:fewer|less|shorter|lower|earlier) than|under|below|before|until|不到|不足|少于|低于|小于|早于"
_ABOUT: Final = r"about|around|approximately|roughly|nearly|almost|some|circa|~|大约|约|差不多|将近|近"
_BEFORE: Final = re.compile(
    rf"(?:(?P<least>{_LEAST})|(?P<more>{_MORE})|(?P<most>{_MOST})|(?P<less>{_LESS})|(?P<about>{_ABOUT}))\s*(?:the\s)?$",
    re.IGNORECASE,
)
_AFTER: Final = re.compile(
    r"\s*(?:(?P<least>以上|起|or more|and more|or above)|(?P<most>以内|之内|or less|or fewer|以下|内)|"
    r"(?P<less>之前|以前|前)|(?P<more>之后|以后)|(?P<about>左右|上下|or so))",
    re.IGNORECASE,
)


def _bounded(text: str, value: Value) -> Value:
    """The value with the bound that the words around it set."""
    if value.day is not None or not value.exact:
        return value
    match = _BEFORE.search(text[max(0, value.start - 40) : value.start]) or _AFTER.match(text, value.end)
    if match is None or (
        match[0].strip().casefold() in ("by", "after", "before", "until") and value.dimension != "clock"
    ):
        return value
    ends = (0.0, 86_400.0) if value.dimension == "clock" else (-math.inf, math.inf)
    match match.lastgroup:
        case "least" | "more":
            return replace(value, high=ends[1])
        case "most" | "less":
            return replace(value, low=ends[0])
        case _:
            return value if value.dimension == "clock" else replace(value, approximate=True)
