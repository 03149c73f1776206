"""How alike the texts of two memories are: whether they say the same, or speak of the same."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ...schemas import Memory
from ..index import folded, speaker, terms
from ..index.analysis import is_identifier

_SAME_SUBJECT: Final = 0.45
_WITH_ENTITY: Final = 0.25
_SAME: Final = 0.85
_READ: Final = 2000
_WORD: Final = re.compile(r"[\u3400-\u9fff]|[^\W_]+(?:[-.'’][^\W_]+)*")
_NEGATION: Final = frozenset("not no never without nor cannot 不 没 无 未 别 非".split())  # noqa: SIM905  # read at a glance


@dataclass(frozen=True, slots=True)
class Likeness:
    """What of a memory is compared."""

    terms: frozenset[str]
    entities: frozenset[str]
    words: frozenset[str]
    speaker: str | None

    @classmethod
    def of(cls, memory: Memory) -> Likeness:
        """The comparable parts of ``memory``; of a long text, its beginning."""
        text = memory.content[:_READ]
        return cls(
            frozenset(terms("\n".join((text, *memory.entities, *memory.tags)))),
            frozenset(map(folded, memory.entities)),
            frozenset(_WORD.findall(folded(text))),
            speaker(memory),
        )

    @staticmethod
    def text(memory: Memory) -> str:
        """All that ``memory`` can be found by, folded."""
        return folded("\n".join((memory.content, *memory.entities, *memory.tags)))

    def same_subject(self, other: Likeness) -> bool:
        """Whether both speak of the same: most of the words of the shorter, fewer if both name the same entity."""
        common = len(self.terms & other.terms) / max(1, min(len(self.terms), len(other.terms)))
        return common >= _SAME_SUBJECT or (common >= _WITH_ENTITY and bool(self.entities & other.entities))

    def same(self, other: Likeness) -> bool:
        """Whether both say the same: nearly the same words, and the same numbers, codes and denials."""
        if self.speaker != other.speaker or not self.words or not other.words:
            return False
        apart = self.words ^ other.words
        if len(apart) > (1 - _SAME) * len(self.words | other.words):
            return False
        return not any(
            word in _NEGATION or word.endswith("n't") or word.isdecimal() or is_identifier(word) for word in apart
        )
