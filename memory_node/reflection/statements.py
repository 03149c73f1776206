"""A statement, read: its words, figures, names, poles and aspects, and the ways in which it is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ..index import language, terms
from . import cues
from .axes import aspects, poles
from .chinese_names import people, places
from .cues import words
from .values import Value, values

_CAPITAL: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Z][\w’'&-]*|[A-Z]+\d[\w-]*)(?:\s(?:de|do|da|van|von|of|the)\s(?=[A-Z])|\s(?=[A-Z]))?"
)
_START: Final = re.compile(r"(?:[.!?:;]\s+|[。！？：；]\s*)$")
# One of several alike: "Server A", 三号仓库, B 栋.
_ONE_OF: Final = re.compile(
    r"\b[A-Za-z]{3,} [A-HJ-Z]\b(?![.'])|[一二三四五六七八九十\d]+号[一-鿿]{1,2}"
    r"|[A-Z甲乙丙丁]\s?[区栋座组班店厂][一-鿿]{0,1}"
)
_COMMON: Final = words(
    "I The A An We You He She It They This That There No Not Only Both Every All Some Most Many In On At By "
    "For From To "
    "If When While Since Because Check Please Never Always Guests Two Three Four Five One Less Fewer More "
    "Rate UTC AM PM "
    "Mondays Tuesdays Wednesdays Thursdays Fridays Saturdays Sundays "
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July "
    "August September "
    "October November December EUR USD GBP CNY Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec GB MB KB TB "
    "GiB MiB KM CPU RAM OK"
)


@dataclass(frozen=True)
class Statement:
    """One text and what can be read in it; everything is worked out when first asked for."""

    text: str

    @cached_property
    def language(self) -> str:
        """``en`` or ``zh``."""
        return language(self.text)

    @cached_property
    def values(self) -> list[Value]:
        """Figures, dates and times."""
        return values(self.text)

    @cached_property
    def content(self) -> frozenset[str]:
        """Terms that carry the topic: without figures, negations and stop words."""
        bare = list(self.text)
        for value in self.values:
            bare[value.start : value.end] = " " * (value.end - value.start)
        text = cues.NEGATION.sub(" ", "".join(bare)) if self.language == "zh" else "".join(bare)
        return frozenset(term for term in terms(text) if not term.replace(".", "").isdigit())

    @cached_property
    def names(self) -> frozenset[str]:
        """Proper names and identifiers, case-folded: of people, places, products."""
        found = set()
        for match in _CAPITAL.finditer(self.text):
            word = match[0].strip().removesuffix("'s").removesuffix("’s")
            if word in _COMMON or (_starts(self.text, match.start()) and not _again(self.text, match, word)):
                continue
            found.add(word.casefold())
        found.update(re.findall(r"(?<![\w.])[A-Za-z]+[-_]?\d[\w.-]*\w|\b[A-Z]{2,}-\d+", self.text.casefold()))
        found.update(match.casefold() for match in _ONE_OF.findall(self.text))
        if self.language == "zh":
            found.update(people(self.text))
            found.update(places(self.text))
        return frozenset(found)

    @cached_property
    def poles(self) -> dict[str, set[int]]:
        """Where it stands on each axis of opposites."""
        return poles(self.text)

    @cached_property
    def aspects(self) -> dict[str, set[int]]:
        """Of which part, channel, environment… it speaks."""
        return aspects(self.text)

    @cached_property
    def negated(self) -> bool:
        """Whether it denies."""
        return cues.negated(self.text)

    @cached_property
    def changes(self) -> bool:
        """Whether it says that something is no longer as it was."""
        return cues.CHANGE.search(self.text) is not None

    def says(self, cue: re.Pattern[str]) -> bool:
        """Whether one of the cue's words stands in it."""
        return cue.search(self.text) is not None


def _starts(text: str, at: int) -> bool:
    return at == 0 or _START.search(text[max(0, at - 6) : at]) is not None


def _again(text: str, match: re.Match[str], word: str) -> bool:
    """A capital at a sentence's start says nothing, unless another one follows: "Mei Castellan", "Sanna's"."""
    return (
        bool(re.match(r"\s?[A-Z]", text[match.end() :]))
        or text[match.end() - 1 : match.end()] == " "
        or not word.isalpha()
    )
