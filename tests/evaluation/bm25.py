"""Plain BM25 (Robertson and Zaragoza 2009) over lower-cased words: the baseline that nobody should fall below."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

K1: Final = 1.5
B: Final = 0.75
_WORD: Final = re.compile(r"\w+")


class Bm25:
    """An inverted index over a handful of texts, in memory."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        words = {id: _WORD.findall(text.lower()) for id, text in texts.items()}
        mean_length = sum(map(len, words.values())) / max(len(words), 1)
        self._postings: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for id, its in words.items():
            norm = K1 * (1 - B + B * len(its) / mean_length)
            for word, count in Counter(its).items():
                self._postings[word].append((id, count * (K1 + 1) / (count + norm)))
        self._size = len(words)

    def ranking(self, query: str, limit: int) -> list[str]:
        """Ids of the best texts, best first."""
        totals: dict[str, float] = defaultdict(float)
        for word in set(_WORD.findall(query.lower())):
            postings = self._postings.get(word, [])
            idf = math.log(1 + (self._size - len(postings) + 0.5) / (len(postings) + 0.5))
            for id, weight in postings:
                totals[id] += idf * weight
        return sorted(totals, key=lambda id: (-totals[id], id))[:limit]
