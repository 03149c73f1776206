"""Comparing two facts exactly: subject, predicate and object, across spellings and units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from ...schemas import Fact
from ..index.analysis import bare, folded, terms
from . import cues
from .axes import poles
from .values import Value, relation, values

_PREDICATES: Final = (
    "duration|takes|time needed|时长|耗时|用时",
    "price|cost|costs|fee|价格|费用|票价|售价",
    "status|state|状态",
    "time|when|hours|时间",
    "date|day|日期",
    "place|location|位置|地点|所在地",
    "size|尺寸|大小",
    "weight|mass|重量",
    "amount|sum|金额|总额",
    "payment|payment method|付款方式|支付方式",
    "version|release|版本|版本号",
    "owner|responsible|in charge|负责人",
    "port|port number|端口|端口号",
    "manager|经理",
    "contact|联系人",
    "capacity|容量",
    "time zone|timezone|时区",
    "timeout|time out|超时时间",
    "default branch|默认分支",
    "depends on|依赖",
    "works at|works for|就职于",
    "lives in|住在",
    "address|地址",
    "phone|phone number|电话|电话号码",
    "e-mail|email|mail|e-mail address|email address|邮箱|电子邮件",
    "licence|license|许可证",
    "material|材质|材料",
    "colour|color|颜色",
    "diet|eats|饮食",
    "cause|reason|原因",
    "deadline|due|截止|截止日期|到期",
    "seat|seat preference|座位|座位偏好",
    "temperature|温度",
    "distance|距离",
    "warranty|保修|质保",
    "limit|max|maximum|上限|限制",
    "likes|喜欢",
    "dislikes|不喜欢|讨厌",
    "speaks|language|会说|语言",
    "allergy|allergic to|allergies|过敏",
)
_SAME: Final = {name: group.split("|")[0] for group in _PREDICATES for name in group.split("|")}
_MANY: Final = re.compile(
    r"\b(?:likes?|dislikes?|loves?|hates?|enjoys?|speaks?|knows?|visited|has visited|been to|owns?|has|"
    r"have|uses?|allerg\w+|skills?|hobb\w+|"
    r"members?|includes?|contains?|tags?|friends?|colleagues?|children|languages?|supports?|bought|ordered|"
    r"depends? on|wrote|works? with|interested in|"
    r"related to|mentions?|reads?|plays?|attended|sells?|offers?)\b|喜欢|讨厌|会说|去过|拥有|过敏|技能|"
    r"依赖|爱好|成员|包含|包括|标签|朋友|同事|孩子|支持|买过|买了|认识|用过|参加",
    re.IGNORECASE,
)
_NONE: Final = re.compile(
    r"^(?:no|none|nothing|nobody|never|not|0|无|没有|从未|不|未)\b|^(?:无|没有|从未|不|未|没)|\bonly\b|仅|只",
    re.IGNORECASE,
)
_DEGREES: Final = re.compile(r"(?<=\d)(\s?)([CF])\b")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Of two facts that speak of the same: whether their objects are equal, different, or both possible."""

    relation: Literal["equal", "different", "both"]
    why: str


def compare_facts(a: Fact, b: Fact) -> Comparison | None:
    """``None`` if the two do not share subject and predicate as far as spelling tells."""
    if subject(a) != subject(b) or predicate(a) != predicate(b):
        return None
    what = f"{a.subject} · {a.predicate}"
    left, right = values(_degrees(a)), values(_degrees(b))
    if bare(a.object) == bare(b.object):
        return Comparison("equal", f"{what}: the same value")
    if left and right:
        return _of_values(what, a, b, left, right)
    if (
        (_MANY.search(a.predicate) or _MANY.search(predicate(a)))
        and not _NONE.search(a.object)
        and not _NONE.search(b.object)
    ):
        return Comparison("both", f"{what} can have several values")
    if frozenset(terms(a.object)) == frozenset(terms(b.object)) and terms(a.object):
        return Comparison("equal", f"{what}: the same words")
    standing = poles(a.object), poles(b.object)
    if (
        standing[0]
        and standing[0] == standing[1]
        and not left
        and not right
        and _one_word(a.object)
        and _one_word(b.object)
    ):
        return Comparison("equal", f"{what}: {a.object} is {b.object}")
    return Comparison("different", f"{what}: {a.object} against {b.object}")


def subject(fact: Fact) -> str:
    """A fact's subject as it is compared."""
    return bare(fact.subject)


def predicate(fact: Fact) -> str:
    """A fact's predicate as it is compared: one word for those that mean the same, in either language."""
    plain = folded(fact.predicate).strip().replace("_", " ")
    return bare(_SAME.get(plain, plain))


def _of_values(what: str, a: Fact, b: Fact, left: list[Value], right: list[Value]) -> Comparison:
    if len(left) != len(right):
        return Comparison("different", f"{what}: {a.object} against {b.object}")
    if cues.negated(a.object) != cues.negated(b.object):
        return Comparison("different", f"{what}: {a.object} against {b.object}")
    relations = [relation(x, y) for x, y in zip(left, right, strict=True)]
    if all(found == "equal" for found in relations):
        if any(x.system != y.system for x, y in zip(left, right, strict=True)):
            return Comparison("both", f"{what}: {a.object} is {b.object} in another unit")
        return Comparison("equal", f"{what}: {a.object} is {b.object}")
    if "disjoint" not in relations and None not in relations and _bounded(left) != _bounded(right):
        return Comparison("both", f"{what}: {a.object} fits {b.object}")
    return Comparison("different", f"{what}: {a.object} against {b.object}")


def _degrees(fact: Fact) -> str:
    """The object; "350 F" of a temperature is in degrees."""
    return _DEGREES.sub(r"\1°\2", fact.object) if predicate(fact) == "temperature" else fact.object


def _bounded(found: list[Value]) -> bool:
    return any(not value.exact for value in found)


def _one_word(text: str) -> bool:
    return len(text.split()) == 1
