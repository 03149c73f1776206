"""Names in a text, by rule: people, places, companies, systems, codes, files, hosts, in English and Chinese.

`entities` finds what is named in one text. `salient_entities` says which of them a whole session is about: what the
user names, and what the work and its result come back to.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ..index.analysis import folded
from .chinese_names import people, places
from .cues import words
from .sentences import PIECE, pieces

_HAN: Final = "\u4e00-\u9fff"
_IDENTIFIER: Final = re.compile(
    r"(?<![\w./@-])(?:"
    r"[A-Za-z0-9][\w-]*(?:/[\w.-]+)+\.[A-Za-z]{1,5}"  # a file with its folder
    r"|\d{1,3}(?:\.\d{1,3}){3}"  # an address
    r"|[a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*){1,4}(?=[^\w.(=]|$|\.(?:\s|$))"  # a host, or a file
    r"|[A-Z]{1,6}-[A-Z0-9]*\d[A-Z0-9]*(?:-\d+)*"  # BH-106118, LT-180
    r"|[A-Z]{2,4}\s\d{2,5}(?=\W)"  # EC 214
    r"|[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+"  # quay-gateway, worker-22, refund_notes
    r"|v\d+(?:\.\d+)+"
    r"|[A-Z]{2,}[a-z]*\d{2,}[A-Z\d]*"  # MAYNEST15
    r")(?![\w@]|[-/]\w)"
)
_CAPITALS: Final = re.compile(
    r"(?<![\w./@'’-])[A-Z][a-zà-öø-ÿ]+(?:[A-Z][a-z]+)*(?:-[A-Z][a-z]+)?(?:(?:\s(?:de|do|da|del|di|van|von|"
    r"der|of|the|la|le|and\s(?=[A-Z]\w+\sGmbH))){0,2}\s[A-Z][a-zà-öø-ÿ]+(?:-[A-Z][a-z]+)?)*"
)
_INSTITUTION: Final = re.compile(
    r"\s(?:library|museum|school|university|clinic|hospital|hotel|inn|gallery|theatre|station|office|"
    r"warehouse|restaurant|bakery|bank|college|"
    r"institute|foundation|agency|shop|store|factory|plant|project|team)\b"
)
# A program with its version: "httpkit 0.28", "nginx 1.27.1".
_PROGRAM: Final = re.compile(r"(?<![\w.-])([a-z][a-z0-9]{3,}(?:-[a-z0-9]+)*)(?=\s(?:v?\d+\.\d+))")
_REFERENCE: Final = re.compile(
    r"(?:codes?|references?|ref\.?|confirmation|booking|purchase(?: order)?(?: number)?|po|number|voucher|"
    r"invoice|参考号|预订号|确认号|订位号|取件码|"
    r"单号|编号|代码)\s?(?:no\.?|number|is|为|是)?\s?[:：='\"]?\s?(?:[\w-]+(?:,| and|和|、)\s?){0,3}$",
    re.IGNORECASE,
)
_CALL: Final = re.compile(r"^\s*[A-Za-z_][\w.]*\(.*\)\s*$", re.DOTALL)
_ARGUMENT: Final = re.compile(rf"\b(\w+)=(?:'([^']*)'|\"([^\"]*)\"|\[([^\]]{{0,{PIECE}}})\])")
_SENTENCE_START: Final = re.compile(r"(?:[.!?:;]\s+|[\n“\"(（：；。！？，,、]\s*)$")
_COMMON: Final = words(
    "i the a an and or but if so we you he she it they this that these those there here what which who when "
    "where why how yes no not ok okay "
    "hello hi hey dear thanks thank please great good fine right well sorry sure mr mrs ms dr chef prof "
    "monday tuesday wednesday thursday friday "
    "saturday sunday mon tue wed thu fri sat sun january february march april may june july august "
    "september october november december jan feb mar "
    "apr jun jul aug sep oct nov dec all some many most every each both only never always today tomorrow "
    "yesterday name order budget out in on at "
    "by for from to of with without until after before then than also just one two three four five six "
    "seven eight nine ten first second third new "
    "hard check book booked ask safer unknown try look widen start confirmed held severe merged ordered "
    "leave let bring could would should may will "
    "can cannot do does did done is are was were be been have has had my your his her our their its error "
    "failed summary note task outcome decisions "
    "i'll i'm i'd i've it's that's don't true false none now as because while since though although "
    "however instead tags apply used use set get send sent use"
)
_NOT_CODES: Final = re.compile(
    r"^(?:utf-8|http/\d|iso-\d+|x-\w+|\d+-\w+|[ap]\.m|e\.g|i\.e|vs\.|non-\w+|up-to-\w+|door-to-\w+|back-?order)$",
    re.IGNORECASE,
)
_MEASURED: Final = words(
    "release version runs about over under around python kernel within only nearly than least most from until "
    "since total ship bump deploy install upgrade use run needs drop support require with from build merge "
    "move gives uses"
)
_TITLE: Final = re.compile(r"^(?:Dr|Mr|Mrs|Ms|Chef|Prof|Captain|Hello|Dear|Hi|Hotels)\s+")


def entities(text: str, known: Iterable[str] = ()) -> list[str]:
    """The names in ``text``, in order of appearance, each once.

    ``known`` are names that the pool already has (a gazetteer): found whatever they look like.
    """
    names = tuple(known)
    return list(dict.fromkeys(name for _, piece in pieces(text) for name in _of_piece(piece, names)))


def _of_piece(text: str, known: tuple[str, ...]) -> list[str]:
    spots: dict[str, int] = {}

    def add(name: str, at: int) -> None:
        name = name.strip(" .,:;'\"")
        if 1 < len(name) <= 200 and name not in spots:
            spots[name] = at

    plain = folded(text)
    for name, form in _gazetteer(known):
        if (at := _place(plain, form)) is not None:
            add(name, at)
    for match in _IDENTIFIER.finditer(text):
        if not _NOT_CODES.match(match[0]) and not text[match.end() :].startswith(("(", "=")):
            add(match[0], match.start())
    for match in _PROGRAM.finditer(text):
        if match[1] not in _COMMON and match[1] not in _MEASURED:
            add(match[1], match.start())
    for name, at in _capitalised(text):
        place = _INSTITUTION.match(text, at + len(name))
        add(name + place[0] if place and " " not in name else name, at)
    for name in (*people(text), *places(text)):
        add(name, text.find(name))
    return sorted(spots, key=lambda name: (spots[name], -len(name)))


@lru_cache(maxsize=4)
def _gazetteer(known: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The names with the form in which they are looked for: the same few hundred in every piece of a session."""
    return tuple((name, folded(name)) for name in known)


def _place(text: str, name: str) -> int | None:
    """Where ``name`` stands first, not as a part of another word: Anna in "Annabel saw Anna"."""
    at = text.find(name)
    while at >= 0 and not _whole(text, at, len(name)):
        at = text.find(name, at + 1)
    return at if at >= 0 else None


def _whole(text: str, at: int, length: int) -> bool:
    """Latin names must not begin or end inside a word."""
    before, after = text[at - 1 : at], text[at + length : at + length + 1]
    return not (
        (_LATIN.match(before) and _LATIN.match(text[at]))
        or (_LATIN.match(after) and _LATIN.match(text[at + length - 1]))
    )


_LATIN: Final = re.compile(r"[A-Za-z0-9]")


def _capitalised(text: str) -> Iterable[tuple[str, int]]:
    for match in _CAPITALS.finditer(text):
        name, at = match[0], match.start()
        first = name.split()[0]
        if title := _TITLE.match(name):
            name, at = name[title.end() :], at + title.end()
            first = name.split()[0] if name else ""
        while first.casefold() in _COMMON and " " in name:
            name = name.split(" ", 1)[1]
            at, first = match.end() - len(name), name.split()[0]
        name = re.sub(r"(?:\s(?:of|the|and|de|la|le))+$", "", name)
        if not name or name.casefold() in _COMMON or (not name[0].isupper()):
            continue
        if " " not in name and _starts_sentence(text, at) and not _elsewhere(text, name, at):
            continue
        yield name, at


def _starts_sentence(text: str, at: int) -> bool:
    return at == 0 or _SENTENCE_START.search(text[max(0, at - 6) : at]) is not None


def _elsewhere(text: str, name: str, at: int) -> bool:
    """A lone capital at the start of a sentence is a name if it stands with one inside a sentence, or possesses."""
    if re.match(
        r"['’]s\b|\s(?:wants|needs|says|said|asked|asks|has (?:to|been|moved)|likes|prefers|takes|thinks|"
        r"told|works|called|reported)\b",
        text[at + len(name) :],
    ):
        return True
    return any(
        not _starts_sentence(text, match.start())
        for match in re.finditer(rf"\b{re.escape(name)}\b", text)
        if match.start() != at
    )


@dataclass(slots=True)
class _Mentions:
    first: int
    user: int = 0
    answers: int = 0
    thoughts: int = 0
    calls: int = 0
    results: int = 0
    rejected: bool = False
    reference: bool = False


_NAMING: Final = words("city town place name person owner customer to from hotel restaurant shop country station guest")
_VOICE: Final = {"user_input": 100, "final_answer": 10}
_MOST_NAMES: Final = 256
_ROLE: Final = {
    "user_input": "user",
    "final_answer": "answers",
    "agent_thought": "thoughts",
    "tool_call": "calls",
    "tool_result": "results",
}
ENOUGH: Final = 0.65
"""The score from which a name is one of those that a session is about."""


def salient_entities(events: Sequence[tuple[str, str]], known: Iterable[str] = (), most: int = 24) -> list[str]:
    """What a session is about, most important first: at most ``most`` names.

    ``events`` are ``(kind, content)`` in the order of their turns. A name counts by who says it (the user and the
    answers more than tools) and how often it comes back; what an answer or thought rules out counts less, and so does
    a mere reference number.
    """
    vocabulary = _vocabulary(events, tuple(known))
    whole = {name: _forms(name) for name in vocabulary if not _part_of(name, vocabulary)}
    found: dict[str, _Mentions] = {}
    for position, (kind, content) in enumerate(events):
        role = _ROLE.get(kind)
        if role is None:
            continue
        for name, forms in whole.items():
            if all(_place(content, form) is None for form in forms):
                continue
            entry = found.setdefault(name, _Mentions(position))
            setattr(entry, role, getattr(entry, role) + 1)
            entry.rejected |= kind != "user_input" and _ruled_out(content, name)
            entry.reference |= _is_reference(content, name)
    scored = {name: _score(name, entry) for name, entry in found.items()}
    chosen = [name for name in scored if scored[name] >= ENOUGH]
    return sorted(chosen, key=lambda name: (-scored[name], found[name].first))[:most]


def _vocabulary(events: Sequence[tuple[str, str]], known: tuple[str, ...]) -> list[str]:
    names: Counter[str] = Counter()
    for kind, content in events:
        texts = [content]
        if kind == "tool_call" and _CALL.match(content):
            texts = [next(filter(None, groups), "") for _, *groups in _ARGUMENT.findall(content)]
            names.update(_named_arguments(content))
        for text in texts:
            names.update({name: _VOICE.get(kind, 1) for name in entities(text, known)})
    said = " ".join(content for kind, content in events if kind != "tool_call").casefold()
    names = Counter(dict(names.most_common(_MOST_NAMES)))
    return [name for name in names if "_" not in name or name.replace("_", " ").casefold() not in said]


def _named_arguments(content: str) -> list[str]:
    """Chinese values of arguments that hold names, city='大理': a lone word gives a segmenter nothing to go by."""
    return [
        groups[1]
        for groups in _ARGUMENT.findall(content)
        if groups[0] in _NAMING and re.fullmatch(rf"[{_HAN}]{{2,8}}", groups[1])
    ]


def _part_of(name: str, vocabulary: list[str]) -> bool:
    """Whether the name is a form of a longer one: ``Ilse`` of ``Ilse Okoro``, 束河 of 束河古镇."""
    if any(c in name for c in "-_/") or (any(c.isdigit() for c in name) and name[0] != "v" and not name[0].isdigit()):
        return False
    return any(name != other and name in _forms(other) for other in vocabulary)


def _forms(name: str) -> list[str]:
    """The name, and what it is called once it is known."""
    if re.fullmatch(rf"[{_HAN}]{{4,}}", name):
        return [name, name[:-2], name[-2:]]
    if re.fullmatch(r"v\d[\d.]*", name):
        return [name, name[1:]]
    words = name.split()
    if len(words) == 2 and _INSTITUTION.fullmatch(" " + words[1]):
        return [name, words[0]]
    if len(words) == 2 and all(word[0].isupper() for word in words):
        return [name, *words]
    return [name]


_AGAINST: Final = re.compile(
    r"left out|rules? (?:it|them|that) out|instead of|not suitable|cheaper|cheapest but|lacks?|without|"
    r"skip|unsuitable|too (?:far|expensive|small)|"
    r"取消|去掉|不合适|排除|不选|太远|太贵|虽然便宜|便宜，但",
    re.IGNORECASE,
)


def _ruled_out(content: str, name: str) -> bool:
    clauses = re.split(r"(?<=[.;。；！!?？])\s*", content)
    return any(name in clause and _AGAINST.search(clause) for clause in clauses)


def _is_reference(content: str, name: str) -> bool:
    return any(c.isdigit() for c in name) and any(
        _REFERENCE.search(content[max(0, match.start() - 30) : match.start()])
        for match in re.finditer(re.escape(name), content)
    )


def _score(name: str, entry: _Mentions) -> float:
    if entry.user and not entry.reference:
        return 1.0 + 0.1 * (entry.user + entry.answers)
    score = 0.6 * min(entry.user, 1) + 0.5 * min(entry.answers, 2) + 0.3 * min(entry.thoughts, 2)
    score += 0.25 * min(entry.calls, 3) + 0.2 * min(entry.results, 3)
    if re.fullmatch(r"[A-Za-z]+-[\w-]*\d[\w-]*", name) and name[0].isupper():
        score += 0.45
    if entry.rejected:
        score -= 0.6
    return score - 0.6 if entry.reference else score
