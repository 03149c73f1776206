"""What a memory names, and what kind of thing that is there, by the words beside it, in English and Chinese."""

from __future__ import annotations

import functools
import re
from typing import Final, Literal, TypeAlias

from ...schemas import Memory
from ..index import bare, folded
from ..simplified import simplified

NameKind: TypeAlias = Literal["person", "place", "organisation", "named", "thing"]
"""``named`` is something with a name that says no more; ``thing`` is what has none, so that the name is a word."""

_LONGEST: Final = 80
_NEAR: Final = 200


def names_of(memory: Memory) -> dict[str, str]:
    """What ``memory`` names, its entities and what its fact is about: as it is compared, and as it is written."""
    forms = list(memory.entities)
    if memory.fact is not None:
        forms += [memory.fact.subject, memory.fact.object]
    return {key: form for form in forms if len(form) <= _LONGEST and (key := bare(form))}


_HAN: Final = re.compile("[\u3400-\u9fff]")
_PERSON_VERBS: Final = (
    "said|says|asks|asked|wants|wanted|prefers|likes|loves|hates|promised|owes|teaches|taught|plays|played|thinks|thought|"
    "wrote|writes|knows|called|lives|lived|works|worked|told|answered|agreed|joined|speaks|feels|drinks|eats|ate|"
    "is allergic|is on call|is ill|is married|was born"
)
_BODY_VERBS: Final = (
    "released|launched|announced|charged|charges|pays|paid its|lowered|raised its|acquired|bought|sells|sold|"
    "published|sued|hired|laid off|shipped|stores|offers|closed its"
)
_ENGLISH: Final[tuple[tuple[NameKind, str], ...]] = (
    (
        "person",
        r"(?:\b(?:mr|mrs|ms|dr|prof)\.?\s|\b(?:call|ask|asked|met|meet|tell|told|remind|page|thanks)\s){name}(?!\w)",
    ),
    ("person", rf"(?<!\w){{name}}(?!\w)(?:\s(?:also|still|never|always|often|usually|really))?\s(?:{_PERSON_VERBS})\b"),
    (
        "person",
        r"(?<!\w){name}(?!\w)(?=[^.;!?]*\b(?:he|she|his|her|him|himself|herself)\b)|\b(?:he|she)\b[^.!?]*(?<!\w){name}'s\b",
    ),
    (
        "place",
        r"\b(?:in|to|from|near|across|around|via|through|towards|outside|(?:at|in|on|up|along) the)\s{name}(?!\w|'s)",
    ),
    ("organisation", rf"(?<!\w){{name}}(?!\w)\s(?:{_BODY_VERBS})\b"),
)
_CHINESE: Final[tuple[tuple[NameKind, str], ...]] = (
    ("person", r"(?:给|问|问过|找|叫|请|提醒|采访|告诉|约|陪)(?:了|过)?{name}"),
    (
        "person",
        r"{name}(?:和\w{{1,3}})?(?:说|答应|建议|认为|觉得|喜欢|讨厌|想|负责|请了|不吃|不喝|主演|告诉|同意|教|打算|希望我|在出差|在休假|写了|改)",
    ),
    ("person", r"{name}[^。！？]*(?:她|他)(?!们)"),
    ("place", r"(?:在|去|到|从|往|来自|离开|前往|登|爬)(?:了|过)?{name}"),
    (
        "organisation",
        r"{name}(?:公司|集团|汽车|发布|公布|推出|宣布|收购|裁员|拒绝|的(?:财报|股价|门店|售后|经销商|供应商))|(?:被|向){name}",
    ),
    (
        "thing",
        r"(?:[一二两三四五六七八九十几半\d]|野生|毛绒)(?:个|只|袋|斤|盒|箱|棵|朵|碗|根|条|瓶|块)?(?:野生)?{name}",
    ),
    ("thing", r"(?:吃|喝|种|煮|熬|切|削|浇|养|买|摘)(?:了|过|着)?(?:一些|点)?{name}|{name}(?:树|粥|花|汁|开了|掉叶)"),
)


def kind_of(name: str, text: str) -> NameKind | None:
    """What the words beside ``name`` in ``text`` say that it is there; ``None`` where they say nothing, or too much."""
    name = simplified(name)
    text = _around(simplified(text), name)
    if not _HAN.search(name) and name.isalpha() and re.search(rf"\b{re.escape(name.lower())}\b", text):
        return "thing"  # in small letters it is a word
    found = {kind for kind, pattern in _patterns(name) if pattern.search(text)}
    if not found and not _HAN.search(name) and re.search(rf"[\w,] {re.escape(name)}(?!\w)", text):
        return "named"
    return found.pop() if len(found) == 1 else None


def mentions(text: str, name: str) -> bool:
    """Whether ``name`` stands in ``text``: whole words, without regard to case, width and accents."""
    found = re.escape(folded(name))
    return re.search(found if _HAN.search(name) else rf"(?<!\w){found}(?!\w)", folded(text)) is not None


def _around(text: str, name: str) -> str:
    """What stands near the first place of ``name``; cues are near, and texts may be long."""
    at = max(0, text.lower().find(name.lower()))
    return text[max(0, at - _NEAR) : at + len(name) + _NEAR]


@functools.lru_cache(maxsize=1024)
def _patterns(name: str) -> tuple[tuple[NameKind, re.Pattern[str]], ...]:
    patterns, flag = (_CHINESE, re.NOFLAG) if _HAN.search(name) else (_ENGLISH, re.IGNORECASE)
    return tuple((kind, re.compile(pattern.format(name=re.escape(name)), flag)) for kind, pattern in patterns)
