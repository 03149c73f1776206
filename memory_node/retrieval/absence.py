"""Whether there is an answer at all, where vectors and words bring something all the same.

A question about nothing that is here ("What is the capital of Mongolia?" asked of a team's memories) finds what chance
is like it.

And near misses, which look like answers to vectors and words: what is asked of something named is not there.

"Which port does the Lyon scanner use?" finds what there is about the Lyon scanner, and ports of others. Two things tell
that this answers nothing. Names that are all known, and that no memory has together. Or: nothing that names it has any
other word of the question, and the question asked of anybody ("… for someone?") is much nearer to a memory of something
else than to all of these. Talk is left alone: there the name may have been said a turn before.
So is what was found without vectors, when too little is known.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...schemas import Memory
from ..index import Hit, folded, han_share, is_question, language, terms
from .likeness import Likeness
from .question import Question, impersonal, possible_names
from .signals import is_talk

NEAR: Final = 0.4
"""What is so like the question asked of anybody may be an answer, whatever else is like it."""
FARTHER: Final = 0.1
"""By so much something else has to be nearer. Both were chosen on the labelled cases: docs/retrieval.md."""

RELATED: Final = 0.2
"""Of .52 · meaning + .48 · words (as the profile `evidence` weighs them): of one question in a hundred that has an
answer the best is below, and of seven in ten that were asked of other people's memories (docs/retrieval.md)."""
RELATED_ACROSS: Final = 0.36
"""The same of meaning alone, where words are silent: between languages."""

_ANYTHING: Final = (
    "know known tell say all everything anything something information info detail details file record records note "
    "notes happen happened become became story history background status state news update updates summary overview "
    "about concern concerning regard regarding related thing things matter matters new next open current currently now "
    "有关 关于 相关 事 事情 事项 东西 情况 信息 资料 消息 记录 档案 知道 了解 介绍 背景 历史 经过 发生 进展 进度 近况 "
    "状态 现状 总结 概况 全部 所有 一切 手上 手头 目前 现在 最近 怎么样 怎样 处理 要求 变化"
)
_JOINED: Final = re.compile(
    r"\b(?:and|or|both|between|versus|vs|than|while|whereas)\b|[和与跟或及、比]|还是|以及", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Doubt:
    """``asked`` is the question asked of anybody, ``of`` the ids of what names all that it was asked of, if any."""

    asked: str
    of: tuple[str, ...]


def unrelated(hits: Sequence[Hit], question: Question) -> bool:
    """Whether a question is about nothing of what was found.

    Only what ends with a question mark is judged: what is looked for by a word or two ("recent incidents") is like
    little of what it means. A time in the question fits what happened then, whatever it is like.
    """
    if question.periods or not is_question(question.text) or all(hit.semantic is None for hit in hits):
        return False
    asked_in = language(question.text)

    def related(hit: Hit) -> bool:
        meaning = hit.semantic or 0.0
        across = meaning >= RELATED_ACROSS and hit.once(_language) != asked_in
        return across or 0.52 * meaning + 0.48 * hit.keyword >= RELATED

    return not any(map(related, hits))


def doubted(hits: Sequence[Hit], question: Question) -> Doubt | None:
    """What is to be asked of the index to know whether there is an answer; ``None`` if there is no doubt."""
    named = _named(hits, question)
    naming = [hit for hit in hits if any(hit.id in ids for ids in named.values())]
    if not named or any(map(is_talk, naming)) or all(hit.semantic is None for hit in hits):
        return None
    asked = impersonal(question.text, named)
    of = set.intersection(*named.values())
    if not of:
        return Doubt(asked, ()) if _apart(named, hits, question) else None
    words = {term for term in terms(asked) if not term.startswith("@")} - _said_of_anything()
    if not words or any(not words.isdisjoint(hit.once(_terms)) for hit in naming if hit.id in of):
        return None
    return Doubt(asked, tuple(sorted(of)))


def absent(own: float, best: float) -> bool:
    """Whether similarities to the question asked of anybody, the best of what is doubted and of all, say no answer."""
    return own < NEAR and best - own > FARTHER


def _named(hits: Sequence[Hit], question: Question) -> dict[str, set[str]]:
    """What the query names, times and codes aside, and which hits have it; of names in names the longest."""
    asked = question.folded
    possible = {entity for hit in hits for entity in hit.once(_entities) if entity in asked}
    possible |= {name for name in possible_names(question.text[1:]) if name.isascii()}  # the first word is no name
    times = [folded(period.text) for period in question.periods]
    possible = {
        name
        for name in possible
        if _having(name, {"": asked}) and not any(c.isdigit() for c in name) and not any(name in time for time in times)
    }
    if not possible:
        return {}
    texts = {hit.id: hit.once(Likeness.text) for hit in hits}
    having = {name: _having(name, texts) for name in possible}
    known = {name for name, ids in having.items() if ids}
    return {name: having[name] for name in known if not any(name != other and name in other for other in known)}


def _apart(named: Mapping[str, set[str]], hits: Sequence[Hit], question: Question) -> bool:
    """Whether the names are of one thing that is asked for, and no memory is, by itself or by its links, about all."""
    if _JOINED.search(question.folded):
        return False
    linked = {hit.id: {link.target for link in hit.memory.links} for hit in hits}
    around = [ids.union(*(linked[id] for id in ids), (i for i in linked if linked[i] & ids)) for ids in named.values()]
    return not set.intersection(*around)


def _having(name: str, texts: Mapping[str, str]) -> set[str]:
    """The ids of the texts that have ``name`` whole; all folded."""
    having = {id for id, text in texts.items() if name in text}
    if not having or han_share(name):
        return having
    whole = re.compile(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])")
    return {id for id in having if whole.search(texts[id])}


def _entities(memory: Memory) -> tuple[str, ...]:
    return tuple(folded(entity) for entity in memory.entities if len(entity) > 1)


def _language(memory: Memory) -> str:
    return language(memory.content)


def _terms(memory: Memory) -> frozenset[str]:
    return frozenset(terms(Likeness.text(memory)))


@functools.cache
def _said_of_anything() -> frozenset[str]:
    """Terms of words that ask for whatever there is, and so are no reason for doubt; and of whom `impersonal` names."""
    return frozenset(terms(_ANYTHING)) | frozenset(terms("someone 某人"))
