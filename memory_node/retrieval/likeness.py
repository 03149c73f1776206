"""How alike the texts of two memories are: whether they say the same, or speak of the same.

Compared are bare words and pairs of Chinese characters: a hundredth of the time that terms take, and as good for this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ...schemas import Memory
from ...schemas.words import Json
from ..index import folded, language, speaker

_SAME_SUBJECT: Final = 0.45
_WITH_ENTITY: Final = 0.2
_SAME: Final = 0.85
_READ: Final = 2000
_WORD: Final = re.compile(
    r"[\u3400-\u9fff]+|(?:(?<![^\W\u3400-\u9fff])[-+−$€£¥]{1,2}(?=\d))?"
    r"[^\W_\u3400-\u9fff]+(?:[-.'’][^\W_\u3400-\u9fff]+)*(?:(?<=\d)[%‰°])?"
)
"""What belongs to a number (its sign, its currency, per cent) is of its word."""
_ARTICLES: Final = frozenset(("a", "an", "the"))
_NEGATION: Final = re.compile(r"n['’]t$|^(?:not|no|never|without|nor|cannot)$|[不没无未别非]")
_LITTLE: Final = frozenset(
    "a an the of to in on at by for from with and or is are was were be it its this that as not no i you he she we they".split()  # noqa: E501, SIM905
)


@dataclass(frozen=True, slots=True)
class Likeness:
    """What of a memory is compared. ``telling`` are its words without those that every text has.

    ``beyond`` is what is not read, but has to be equal where two say the same: the rest of a long text, and data.
    """

    said: tuple[str, ...]
    words: frozenset[str]
    telling: frozenset[str]
    entities: frozenset[str]
    tags: frozenset[str]
    language: str
    speaker: str | None
    beyond: tuple[str, Json]

    @classmethod
    def of(cls, memory: Memory) -> Likeness:
        """The comparable parts of ``memory``; of a long text, its beginning."""
        said = tuple(_words(folded(memory.content[:_READ])))
        words = frozenset(said)
        return cls(
            said,
            words,
            words - _LITTLE,
            frozenset(map(folded, memory.entities)),
            frozenset(map(folded, memory.tags)),
            language(memory.content[:_READ]),
            speaker(memory),
            (memory.content[_READ:], memory.data),
        )

    @staticmethod
    def text(memory: Memory) -> str:
        """All that ``memory`` can be found by, folded."""
        return folded("\n".join((memory.content, *memory.entities, *memory.tags)))

    def same_subject(self, other: Likeness) -> bool:
        """Whether both speak of the same: most of the words of the shorter, fewer if both name the same entity.

        In two languages they have no words to share: then the same entity and the same tag say so.
        """
        if self.language != other.language and self.entities & other.entities and self.tags & other.tags:
            return True
        shorter = min(len(self.telling), len(other.telling))
        common = len(self.telling & other.telling) / max(1, shorter)
        return common >= _SAME_SUBJECT or (common >= _WITH_ENTITY and bool(self.entities & other.entities))

    def same(self, other: Likeness) -> bool:
        """Whether both say the same: nearly the same words in one order, and the same numbers, codes and denials.

        The order tells who did what to whom: "server A needs server B" is not what it is the other way round.
        """
        if self.speaker != other.speaker or self.beyond != other.beyond or not self.words or not other.words:
            return False
        apart = self.words ^ other.words
        if len(apart) > (1 - _SAME) * len(self.words | other.words):
            return False
        if any(_NEGATION.search(word) or any(c.isdigit() for c in word) for word in apart):
            return False
        common = (self.words & other.words) - _ARTICLES
        return [word for word in self.said if word in common] == [word for word in other.said if word in common]


def _words(text: str) -> list[str]:
    words: list[str] = []
    for run in _WORD.findall(text):
        if len(run) > 1 and "\u3400" <= run[0] <= "\u9fff":
            words += (a + b for a, b in pairwise(run))
        else:
            words.append(run)
    return words
