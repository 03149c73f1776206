"""What a shorter text must not lose: names, numbers, dates, identifiers, and what somebody wants or forbids.

`details` and `conditions` list it, `kept` checks it. Compression and telling use `kept` themselves: what is missing
is put back, so that the promise does not hang on how well they choose sentences.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from ..index import terms
from ..simplified import simplified
from . import cues
from .entities import entities
from .sentences import pieces, sentences
from .values import values

_CODE: Final = re.compile(
    r"https?://[^\s，。；、）)\"'”]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"  # addresses
    r"|\b\w+=[\w.:/%+-]+"  # bom=1, tz='local'
    r"|(?:/[\w.-]+){2,}"  # paths
    r"|\b[\w.-]*\d[\w.-]*(?:/[\w.-]+)*\b"  # whatever holds a digit
)
_QUOTED: Final = re.compile(r"[“「]([^”」]{1,40})[”」]|\"([^\"]{1,40})\"|(?<!\w)'([^'\n]{1,40})'(?!\w)")
_GLUE: Final = re.compile(r"\s+")


def details(text: str, known: Iterable[str] = ()) -> list[str]:
    """Names, numbers with their units, dates, times, codes and quoted words of ``text``, each as it is written there.

    In order of appearance; a detail that is part of a longer one is left out.
    """
    names = tuple(known)
    return list(dict.fromkeys(detail for _, piece in pieces(text) for detail in _of_piece(piece, names)))


def _of_piece(text: str, known: tuple[str, ...]) -> list[str]:
    spots: list[tuple[int, int]] = [(value.start, value.end) for value in values(text)]
    spots += [match.span() for match in _CODE.finditer(text)]
    for match in _QUOTED.finditer(text):
        group = match.lastindex or 0
        spots.append(match.span(group))
    for name in entities(text, known):
        spots += [found.span() for found in re.finditer(re.escape(name), text)][:1]
    found: dict[str, None] = {}
    for start, end in _outermost(spots):
        detail = text[start:end].strip(" .,;:，。；：、()（）'\"")
        if detail:
            found.setdefault(detail, None)
    return list(found)


def conditions(text: str) -> list[str]:
    """The sentences of ``text`` that state a constraint, a preference or a wish, word for word."""
    return [
        sentence
        for sentence in sentences(text)
        if any(cue.search(simplified(sentence)) for cue in (cues.CONSTRAINT, cues.PREFERENCE, cues.WISH))
    ]


def kept(before: str, after: str, known: Iterable[str] = ()) -> list[str]:
    """What ``before`` holds and ``after`` has lost: details first, then conditions. Empty means nothing."""
    plain = squeezed(after)
    missing = [detail for detail in details(before, known) if squeezed(detail) not in plain]
    words = frozenset(terms(after))
    return missing + [sentence for sentence in conditions(before) if not _said(sentence, plain, words)]


def squeezed(text: str) -> str:
    """``text`` as it is compared: NFKC, case-folded, in simplified characters, without white space."""
    return simplified(_GLUE.sub("", unicodedata.normalize("NFKC", text)).casefold())


def _said(sentence: str, plain: str, words: frozenset[str]) -> bool:
    """Word for word, or in all its words."""
    return squeezed(sentence).rstrip(".。!！?？;；") in plain or (
        bool(needed := frozenset(terms(sentence))) and needed <= words and _negations(sentence) == 0
    )


def _negations(sentence: str) -> int:
    return len(cues.NEGATION.findall(sentence))


def _outermost(spots: list[tuple[int, int]]) -> list[tuple[int, int]]:
    chosen: list[tuple[int, int]] = []
    for start, end in sorted(set(spots), key=lambda spot: (spot[0], -spot[1])):
        if not any(s <= start and end <= e for s, e in chosen):
            chosen.append((start, end))
    return chosen
