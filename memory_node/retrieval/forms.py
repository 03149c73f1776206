"""What a question asks for has a form: "when" a time, "how many" a number, "which book" a name.

A turn of talk that announces a subject shares more words with a question about it than the turn that answers, and often
has nothing of the form that is asked for: "I read a really good novel" stands before its title. Only marks that any
text has are looked at; that they are there does not say that they answer, so they are an effect and no evidence.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from ...schemas import Memory
from ..index import talk
from ..simplified import simplified

Form: TypeAlias = Literal["time", "number", "name"]

_READ: Final = 1000

_TIME: Final[frozenset[Form]] = frozenset(("time",))
_NUMBER: Final[frozenset[Form]] = frozenset(("number",))
_NAME: Final[frozenset[Form]] = frozenset(("name",))
_ASKED: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), forms)
    for pattern, forms in (
        (
            # not "When I was in Rome, what did I eat?"
            r"\bwhen (?:did|does|do|is|was|were|will|has|have|had|are|would|can)\b|^when\b(?!.*\b(?:wh[aioy]|how))"
            r"|\b(?:what|which) (?:date|day|month|time|week|year)\b|什么时[候间]|何时|哪一?[天年日]|哪个月|几[月号点]",
            _TIME,
        ),
        (r"\bhow (?:long|often)\b|多久|多长时间", _TIME | _NUMBER),
        (r"\bhow (?:many|much|old|far|big|tall|high)\b|多少|几[个次种本部首岁人只条家位]|多[大高远重]", _NUMBER),
        (r"\b(?:name|title|called|named|which)\b|叫什么|叫啥|名字|名称|[书片歌]名|标题|哪[一些]?[本部首款]", _NAME),
    )
)

_WORDS: Final = re.compile(r"[^a-z]+")
_DAYS_AND_MONTHS: Final = (
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday "
    "January February March April June July August September October November December"
)
_SAID_OF_TIME: Final = (
    "yesterday today tonight tomorrow ago last next recently lately since every week weeks weekend weekends month "
    "months year years summer winter autumn christmas birthday"
)
_SAID_OF_NUMBER: Final = (
    "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand dozen "
    "couple several few once twice half"
)
_TIMES: Final = frozenset(f"{_DAYS_AND_MONTHS.lower()} {_SAID_OF_TIME}".split())
_NUMBERS: Final = frozenset(_SAID_OF_NUMBER.split())
_DIGIT: Final = re.compile(r"\d")
_DATED: Final = re.compile(r"(?:19|20)\d\d|\d(?:st|nd|rd|th|:\d)|[\d半](?:年|个?月|天|周|个?小时|点|号|日)")
_MAY: Final = re.compile(r"\b(?:in|of|since|until|by|early|late|\d+) May\b|\bMay \d")
_CHINESE_TIME: Final = re.compile(
    r"[昨今明前后](?:天|年|晚)|去年|[上下这本]个?(?:周|月|星期|礼拜)|(?:周|星期|礼拜)[一二三四五六日天末]|最近|近来|刚[才刚]"
    r"|[一二两三四五六七八九十几](?:年|个?月|天|周|个?小时|点|号|日)|[早晚]上|[上中下]午|小时候|[春夏秋冬]天|生日"
)
_CHINESE_NUMBER: Final = re.compile(r"[二两三四五六七八九百千几双半]|十(?!分)")
_QUOTED: Final = re.compile('["“”《》「」『』]')
_CAPITALISED: Final = re.compile(rf" (?<=[a-z] )(?!(?:May|{_DAYS_AND_MONTHS.replace(' ', '|')})\b)[A-Z][a-z]")
_LATIN: Final = re.compile(r"[\u4e00-\u9fff] ?[A-Za-z]{2}")


def asked_forms(text: str) -> frozenset[Form]:
    """What ``text`` asks for; nothing if it asks for something else."""
    text = simplified(text[:_READ])
    return frozenset[Form]().union(*(forms for pattern, forms in _ASKED if pattern.search(text)))


def forms_of(memory: Memory) -> frozenset[Form]:
    """Of what forms there is something in what is said."""
    text = memory.content[:_READ]
    if said := talk(text):
        text = said[1]
    words = _WORDS.split(text.lower())
    digits, chinese = _DIGIT.search(text) is not None, not text.isascii()
    text = simplified(text) if chinese else text
    found: list[Form] = []
    dated = (digits and _DATED.search(text)) or ("May" in text and _MAY.search(text))
    if dated or not _TIMES.isdisjoint(words) or (chinese and _CHINESE_TIME.search(text)):
        found.append("time")
    if digits or not _NUMBERS.isdisjoint(words) or (chinese and _CHINESE_NUMBER.search(text)):
        found.append("number")
    if _QUOTED.search(text) or _CAPITALISED.search(text) or (chinese and _LATIN.search(text)):
        found.append("name")
    return frozenset(found)
