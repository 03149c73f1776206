"""What is asked: the query, with what its words say about language, identifiers and time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from ...schemas import Invalid, TimeRange
from ..index import folded, han_share, is_identifier, talk, terms
from ..simplified import simplified
from ..when import Period, periods
from .forms import Form, asked_forms

_READ: Final = 2000
_NAMES_READ: Final = 100
_NAME_WORDS: Final = 3
_LETTER: Final = r"(?![\u3400-\u9fff])[^\W\d_]"
_CAPITALISED: Final = rf"(?<!(?![\u3400-\u9fff])\w)(?![a-z]){_LETTER}(?:{_LETTER})*"
"""A word of letters that does not begin with a small one. Chinese around it is not of it."""
_CAPITALISED_RUN: Final = re.compile(rf"{_CAPITALISED}(?:[ '’.-]+{_CAPITALISED})*")
_HAN_RUN: Final = re.compile("[\u3400-\u9fff]{2,}")

_SEVERAL: Final = re.compile(
    r"\bhow many\b|\bboth\b|\b(?:kinds|types|sorts|ways)\b|\b(?:what|where|who)\s+(?:has|have|are|were)\b"
    # "which big cities has …": a plural before the verb
    r"|\b(?:what|which)\s+(?:[^\s?]+\s+){0,2}?\w*[^\Ws]s\s+"
    r"(?:do|does|did|has|have|had|is|are|was|were|can|could|will|would|should)\b"
    r"|哪些|哪几|哪两|几次|几种|几个|多少[次种个]|分别|都[^，。？]{0,6}[什哪谁]",
    re.IGNORECASE,
)
_I: Final = re.compile(r"\b(?:i|me|my|mine)\b|我(?!们)", re.IGNORECASE)
_YOU: Final = re.compile(r"\byou(?:rs?)?\b|[你您]", re.IGNORECASE)
_TOLD_ME: Final = re.compile(
    r"\byou\b(?! (?:still |also )?(?:remember|recall|know|think))[^.?!;]{0,80}\b(?:me|us)\b"
    r"|[你您][^，。？！；]{0,20}(?:给|教|诉|向|跟|和|对|为|帮|让|叫|劝|荐|绍|享)[过了]?我",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Question:
    """``chinese`` is the share of Chinese in the text, 0…1; ``identifiers`` are the codes in it, folded.

    ``several``: it asks for more than one thing ("which cities", 哪些, "how many times"). ``asker``: who asks, folded,
    if it is a turn of talk itself ("Ann: what do I like?"), and ``asked`` what is asked then, or all of it, folded.
    ``forms``: what it asks for has one of these. ``of_me``: it speaks of who asks, and not of the other
    ("what do I like?", 我喜欢什么).
    ``told_me``: it is about what who is asked told who asks ("what did you recommend to me?", 你给我推荐了什么).
    """

    text: str
    folded: str
    now: datetime
    chinese: float
    identifiers: frozenset[str]
    periods: tuple[Period, ...]
    several: bool
    asker: str | None
    asked: str
    forms: frozenset[Form]
    of_me: bool
    told_me: bool

    @classmethod
    def of(cls, text: str, now: datetime, time_zone: str | None = None) -> Question:
        """Read ``text`` as asked at ``now``, in ``time_zone`` (an IANA name; left out, that of ``now``).

        Raises:
            Invalid: there is no such time zone.
        """
        asker, asked = talk(text) or (None, text)
        said = simplified(asked[:_READ])
        return cls(
            text=text,
            folded=folded(text),
            now=now,
            chinese=han_share(text),
            identifiers=frozenset(term for term in terms(text[:_READ]) if is_code(term)),
            periods=tuple(periods(text, now, _zone(time_zone))),
            several=_SEVERAL.search(simplified(text[:_READ])) is not None,
            asker=folded(asker) if asker else None,
            asked=folded(asked),
            forms=asked_forms(asked),
            of_me=_I.search(said) is not None and _YOU.search(said) is None,
            told_me=_TOLD_ME.search(said) is not None,
        )

    def names(self, name: str) -> bool:
        """Whether it is asked of ``name``: "also" is not asked of Al, nor is what Al asks."""
        name = folded(name)
        return name in self.asked and re.search(_whole(name), self.asked) is not None


def time_asked(question: Question, given: TimeRange | None) -> TimeRange | None:
    """The time that ``question`` names (of several, from the first to the end of the last) within ``given``.

    If it names none, ``given``.
    """
    if not question.periods:
        return given
    given = given or TimeRange()
    starts = [period.start for period in question.periods]
    ends = [period.end for period in question.periods]
    start = min((s for s in starts if s), default=None) if all(starts) else None
    end = max((e for e in ends if e), default=None) if all(ends) else None
    return TimeRange(
        start=max((s for s in (start, given.start) if s), default=None),
        end=min((e for e in (end, given.end) if e), default=None),
    )


def possible_names(text: str) -> frozenset[str]:
    """What at the beginning of ``text`` may be the name of somebody who speaks, folded: what has the form of one.

    Who asks (see `Question`) is not meant.
    """
    text = text[:_NAMES_READ]
    if said := talk(text):
        text = said[1]
    found: set[str] = set()
    for run in _CAPITALISED_RUN.finditer(text):
        words = list(re.finditer(_CAPITALISED, run[0]))
        for i, first in enumerate(words):
            found.update(folded(run[0][first.start() : last.end()]) for last in words[i : i + _NAME_WORDS])
    found = {name for name in found if terms(name)}
    for run in _HAN_RUN.finditer(simplified(text)):
        found.update(run[0][i : i + length] for length in (2, 3, 4) for i in range(len(run[0]) - length + 1))
    return frozenset(found)


def impersonal(text: str, names: Iterable[str]) -> str:
    """``text`` with somebody in the place of ``names``, which are folded: what is asked, whoever it is asked of."""
    text, somebody = simplified(text), "某人" if han_share(text) >= 0.5 else "someone"
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(_whole(name), somebody, text, flags=re.IGNORECASE)
    return text


def _whole(name: str) -> str:
    """A pattern for ``name``: not within another word, where there are spaces between words."""
    return re.escape(name) if han_share(name) else rf"(?<!{_LETTER}){re.escape(name)}(?!{_LETTER})"


def is_code(term: str) -> bool:
    """Whether a term names one thing and nothing near it: letters and digits joined, as in ``kst-312``."""
    return is_identifier(term) and len(term) >= 4 and any(c.isalpha() for c in term) and "-" in term


def _zone(name: str | None) -> ZoneInfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as e:  # not found, not a name, a directory
        raise Invalid(
            f"time_zone: there is no {name!r}; an IANA name like Asia/Shanghai is meant", field="time_zone"
        ) from e
