"""From text to terms: what BM25 matches on, in English and Chinese.

Terms are made of NFKC text, case-folded, without accents and in simplified characters. English words lose their
possessive and are stemmed (Snowball), stop words are left out; Chinese is cut into words, long ones into their parts
too, as jieba's search mode does. Identifiers, numbers and versions (``KST-231``, ``2.8.1``, ``worker-17``, ``a_b``,
``ops@x.org``) are one term whole, and the words in them are terms as well.
"""

from __future__ import annotations

import functools
import re
import threading
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import islice
from typing import Final, Literal, TypeAlias

import rjieba
import Stemmer  # type: ignore[import-not-found]  # a bare extension module, without stubs

from ..simplified import simplified
from ._calendar import calendar_terms

Language: TypeAlias = Literal["en", "zh"]

K1: Final = 0.9
B: Final = 0.4
"""Anserini's defaults for short passages; 1.2 and 0.75 found .02 less evidence in dated turns of talk."""
AVERAGE_LENGTH: Final = 16
"""Terms of an average memory: 14–15 in talk. A constant, so that a document's weights do not depend on the others."""
MAX_TERMS: Final = 20_000
"""Of one text; far more than 64 KiB of prose has."""
MAX_QUERY: Final = 4000
"""Characters of a query whose words count."""
MAX_QUERY_TERMS: Final = 64
"""Of a query. A question has a dozen; whoever pastes a log is helped by its beginning."""

IDENTIFIER_WEIGHT: Final = 2.0

_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_IS_HAN: Final = re.compile(f"[{_HAN}]")
_HAN_RUN: Final = re.compile(f"[{_HAN}]+")
_OTHER_LETTERS: Final = re.compile(rf"[^\W\d_{_HAN}]+")
# None of these is a combining character; asking the character database about every Chinese one takes most of the time.
_PLAIN: Final = f"\x00-\u02ff\u2000-\u20cf\u3000-\u3029\uac00-\ud7ff{_HAN}"
_MAY_COMBINE: Final = re.compile(f"[^{_PLAIN}]")
# A run of Han characters, or a run of other letters and digits with single joiners inside it.
_RUN: Final = re.compile(rf"[{_HAN}]+|(?:(?![{_HAN}_])\w)+(?:[-_.:/@'’+#&](?:(?![{_HAN}_])\w)+)*")
_PART: Final = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_POSSESSIVE: Final = re.compile(r"['’]s?$|['’](?=s$)")
_HAS_DIGIT: Final = re.compile(r"\d")
_local: Final = threading.local()


@dataclass(frozen=True, slots=True)
class SparseWeights:
    """A sparse vector: 32-bit term numbers in rising order, and their weights."""

    indices: list[int]
    values: list[float]

    def __bool__(self) -> bool:
        return bool(self.indices)


def han_share(text: str) -> float:
    """How much of ``text`` is Chinese, 0…1. One Han character counts as three letters do."""
    if text.isascii() or not (runs := _HAN_RUN.findall(text)):
        return 0.0
    han = sum(map(len, runs))
    others = sum(map(len, _OTHER_LETTERS.findall(text)))
    return 3 * han / (3 * han + others)


def language(text: str) -> Language:
    """The language that most of ``text`` is in; anything that is not Chinese counts as English."""
    return "zh" if han_share(text) >= 0.5 else "en"


def sentences(text: str) -> list[str]:
    """The sentences of ``text`` in order, without the space between them; points in numbers and names end none."""
    return [sentence.strip() for sentence in _BETWEEN_SENTENCES.split(text) if sentence.strip()]


def is_question(sentence: str) -> bool:
    """Whether a sentence ends with a question mark, perhaps in quotes or brackets."""
    return sentence.rstrip(_CLOSING).endswith(("?", "？"))


_BETWEEN_SENTENCES: Final = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+|(?<=[。！？])(?![。！？”’」）])|\n+")
_CLOSING: Final = " \"'”’」)）"


def bare(text: str) -> str:
    """``text`` as names of things are compared in facts: folded, without articles, punctuation and spaces."""
    return _FILLER.sub("", unicodedata.normalize("NFKC", folded(text)))


_FILLER: Final = re.compile(
    r"\b(?:the|an?|about|approximately|some|by|at|on|in)\b|[\s\"“”'’.,，。、:：()（）]+", re.IGNORECASE
)


def folded(text: str) -> str:
    """``text`` in NFKC, case-folded, without accents, in simplified characters: names, tags and terms as compared."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return simplified(unicodedata.normalize("NFKC", _MAY_COMBINE.sub(_uncombined, decomposed)))


def _uncombined(match: re.Match[str]) -> str:
    return "" if unicodedata.combining(match[0]) else match[0]


def terms(text: str) -> list[str]:
    """The terms of ``text``, in order, repeated as often as they occur."""
    text = folded(text)
    found = calendar_terms(text)
    for run in _RUN.findall(_THOUSANDS.sub("", text)):
        if _IS_HAN.match(run):
            found.extend(_of_chinese(run))
        elif run.isalpha():
            found.extend(_of_word(run))
        else:
            found.extend(_of_compound(run))
        if len(found) > MAX_TERMS:
            break
    return found[:MAX_TERMS]


def sparse_document(text: str) -> SparseWeights:
    """The document side of BM25 (Robertson and Zaragoza 2009): what the engine multiplies with the query's idf."""
    return weighed_document(Counter(term_numbers(text)))


def weighed_document(counts: Mapping[int, float]) -> SparseWeights:
    """Likewise of terms that are counted by what they weigh, as BM25F does for fields (Robertson et al. 2004)."""
    norm = K1 * (1 - B + B * sum(counts.values()) / AVERAGE_LENGTH)
    numbers = sorted(counts)
    most = K1 + 1
    return SparseWeights(numbers, [count * most / (count + norm) for count in map(counts.__getitem__, numbers)])


def sparse_query(text: str) -> SparseWeights:
    """The query side: every distinct term once; identifiers weigh more, since they are meant exactly.

    Of a long text its first `MAX_QUERY_TERMS` terms, within `MAX_QUERY` characters.
    """
    first = islice(dict.fromkeys(terms(text[:MAX_QUERY])), MAX_QUERY_TERMS)
    weights = {term_number(term): IDENTIFIER_WEIGHT if is_identifier(term) else 1.0 for term in first}
    numbers = sorted(weights)
    return SparseWeights(numbers, [weights[n] for n in numbers])


def is_identifier(term: str) -> bool:
    """Whether a term is a code, a version or the like: ``kst-231``, ``2.8.1``, ``bh-104882``, ``5f3a9c``."""
    return len(term) >= 3 and _HAS_DIGIT.search(term) is not None and not term.isdecimal()


def term_numbers(text: str) -> list[int]:
    """The numbers of the terms of ``text``, in order, repeated as often as they occur."""
    return list(map(term_number, terms(text)))


def term_number(term: str) -> int:
    """A stable number for a term: two of a million terms meet with a chance of one in four thousand each."""
    return zlib.crc32(term.encode("utf-8", "replace"))


def _of_chinese(run: str) -> Iterable[str]:
    stop_words = _stop_words("zh")
    return (word for word in rjieba.cut_for_search(run) if word not in stop_words)


@functools.lru_cache(maxsize=65_536)
def _of_word(word: str) -> tuple[str, ...]:
    return () if word in _stop_words("en") else (_stem(word),)


def _of_compound(run: str) -> Iterable[str]:
    if "'" in run or "’" in run:
        run = run.replace("’", "'")
        if run in _stop_words("en"):
            return
        run = _POSSESSIVE.sub("", run).replace("'", "")
        if run.isalpha():
            yield from _of_word(run)
            return
    yield run
    parts = _PART.findall(run)
    if len(parts) > 1:
        for part in parts:
            if part.isalpha():
                yield from _of_word(part)
            elif len(part) > 1:
                yield part


@functools.cache
def _stop_words(language: Language) -> frozenset[str]:
    """Words that say nothing about what a text is about; question words are among them, since queries are questions."""
    text = resources.files(__package__).joinpath(f"stop_words_{language}.txt").read_text("utf-8")
    return frozenset(text.split())


def _stem(word: str) -> str:
    if not word.isascii() or len(word) < 3 or len(word) > 40:
        return word
    # One stemmer per thread: PyStemmer's objects must not be shared between threads.
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    stem: str = stemmer.stemWord(word)
    return stem
