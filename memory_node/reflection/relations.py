"""Relations as facts: what one plain sentence says of one thing, in English and Chinese, by few and narrow rules.

A rule takes the whole sentence or nothing. What it takes can be compared exactly; what none takes is left to the rules
for texts. So a missed relation costs little, and a wrong one would cost trust.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ...schemas import Fact
from .facts import predicate, subject

LONGEST: Final = 200

_NAME: Final = r"[A-Z][\w'’-]*(?:\s(?:of|de|van|von|der|the|and)?\s?[A-Z][\w'’-]*){0,3}"
_HAN_NAME: Final = r"[一-鿿]{2,4}"
_WHO: Final = rf"(?:{_NAME}|{_HAN_NAME})"
_THING: Final = r"(?:[Tt]he\s)?[\w./@-]+(?:\s[\w./@-]+){0,4}"
_HAN_THING: Final = r"[\w./@一-鿿 -]{1,30}?"
_ATTRIBUTES: Final = (
    r"owner|version|release|port|manager|contact|deadline|address|phone number|e-?mail(?: address)?|licen[cs]e|"
    r"time ?zone|time ?out|(?:rate |retry |size |upload |connection )?limit|default branch|price|capacity"
)
_HAN_ATTRIBUTES: Final = (
    r"负责人|联系人|经理|版本号?|端口号?|截止日期|地址|电话号码|电话|邮箱|许可证|时区|超时时间|默认分支|价格|容量|上限"
)


@dataclass(frozen=True, slots=True)
class _Rule:
    """``named`` is the predicate where the pattern has none of its own."""

    pattern: re.Pattern[str]
    named: str = ""


def _rule(pattern: str, named: str = "") -> _Rule:
    return _Rule(re.compile(pattern), named)


_RULES: Final = (
    _rule(rf"[Tt]he (?P<p>{_ATTRIBUTES}) (?:of|for) (?P<s>{_THING}) is (?:now )?(?P<o>.+)"),
    _rule(rf"(?P<s>{_THING})['’]s (?P<p>{_ATTRIBUTES}) is (?:now )?(?P<o>.+)"),
    _rule(rf"(?P<s>{_THING}) is (?:now )?owned by (?P<o>{_NAME})", "owner"),
    _rule(rf"(?P<s>{_THING}) (?:now )?(?:listens|runs|is) on port (?P<o>\d{{2,5}})", "port"),
    _rule(rf"(?P<s>{_THING}) (?:now )?(?:runs|uses|is at|is on) (?:version|release) (?P<o>v?\d[\w.+-]*)", "version"),
    _rule(rf"(?P<s>{_THING}) depends on (?P<o>{_THING})", "depends on"),
    _rule(rf"(?P<o>{_NAME}) is (?P<s>{_NAME})['’]s manager", "manager"),
    _rule(rf"(?P<o>{_NAME}) manages (?P<s>{_NAME})", "manager"),
    _rule(rf"(?P<s>{_NAME}) reports to (?P<o>{_NAME})", "manager"),
    _rule(rf"(?P<s>{_NAME}) (?:now )?works (?:at|for) (?P<o>(?:the )?{_NAME})", "works at"),
    _rule(rf"(?P<s>{_NAME}) (?:now )?lives in (?P<o>{_NAME})(?: now)?", "lives in"),
    _rule(rf"(?P<s>{_NAME}) (?:now )?prefers (?:an? |the )?(?P<o>window|aisle|middle|exit) seats?", "seat preference"),
    _rule(
        rf"(?P<s>{_HAN_THING})\s?的(?P<p>{_HAN_ATTRIBUTES})(?:现在)?(?:是|为|改为|改成|换成|变更为)\s?(?P<o>.+)",
    ),
    _rule(rf"(?P<s>{_HAN_THING})\s?(?:现在)?由\s?(?P<o>{_WHO})\s?负责", "负责人"),
    _rule(rf"(?P<s>{_HAN_THING})\s?(?:现在)?监听\s?(?P<o>\d{{2,5}})\s?端口", "端口"),
    _rule(rf"(?P<s>{_HAN_THING})\s?依赖于?\s?(?P<o>{_HAN_THING})", "依赖"),
    _rule(rf"(?P<o>{_WHO})\s?是\s?(?P<s>{_WHO})\s?的(?:经理|上司|主管)", "经理"),
    _rule(rf"(?P<s>{_WHO})\s?(?:现在)?住在\s?(?P<o>{_WHO})", "住在"),
    _rule(rf"(?P<s>{_WHO})\s?(?:现在)?在\s?(?P<o>[\w一-鿿]{{2,12}}?)\s?(?:工作|上班|任职)", "就职于"),
    _rule(
        rf"(?P<s>{_WHO})\s?(?:现在)?(?:更)?(?:喜欢坐|偏好|喜欢)(?P<o>靠窗|过道|靠过道)的?(?:座位|位置|位子)?",
        "座位偏好",
    ),
)
_UNCLEAR: Final = re.compile(
    r"\b(?:it|this|that|these|those|he|she|they|we|you|i|there|which|what|who|whoever|if|when|not|no|nor|or|and|"
    r"every|each|all|any|some|most|only|either|both|unknown|unclear|tbd|but|because|usually|often|still|about|"
    r"probably|same|different|another|other)\b"
    r"|[,，;；、()（）?？:：]|[这那哪]|不|没|未|别的|[他她它]|谁|或|和|与|及|以及|都|每|所有|如果|大概|可能|待定|仍",
    re.IGNORECASE,
)
_END: Final = re.compile(r"[\s.。!！]+$")
_NUMBERS: Final = {"port": re.compile(r"\d{2,5}"), "version": re.compile(r"v?\d[\w.+-]*")}
_NOT_EXCLUSIVE: Final = frozenset({"works at", "就职于", "lives in", "住在", "manager", "经理"})
"""Of these somebody may have several, or one within another (a town and its country): only a change replaces one."""
_ONE_WAY: Final = frozenset({"manager", "经理"})


def relation(text: str) -> Fact | None:
    """What ``text`` says, if it is one sentence that states one relation and nothing else."""
    if len(text) > LONGEST:
        return None
    sentence = _END.sub("", text.strip())
    for rule in _RULES:
        match = rule.pattern.fullmatch(sentence)
        if match is None:
            continue
        about, value = match["s"].strip(), match["o"].strip()
        named = rule.named or match["p"]
        if _UNCLEAR.search(about) or _UNCLEAR.search(value) or len(value.split()) > 8:
            continue
        fact = Fact(subject=about, predicate=named, object=value)
        figure = _NUMBERS.get(predicate(fact))
        if figure is None or figure.fullmatch(value):
            return fact
    return None


def is_exclusive(fact: Fact) -> bool:
    """Whether a thing has one such value at a time, so that another one contradicts it."""
    return fact.predicate not in _NOT_EXCLUSIVE


def are_turned(a: Fact, b: Fact) -> bool:
    """Whether ``b`` says of two the other way round what holds one way only: each is the other's manager."""
    return (
        predicate(a) == predicate(b)
        and a.predicate in _ONE_WAY
        and subject(a) == subject(Fact(subject=b.object, predicate=b.predicate, object=b.subject))
        and subject(b) == subject(Fact(subject=a.object, predicate=a.predicate, object=a.subject))
    )


def read_again(fact: Fact | None, before: str, after: str) -> Fact | None:
    """The fact of a text that was changed: what was read from the old one is read from the new one."""
    return relation(after) if fact is not None and fact == relation(before) else fact
