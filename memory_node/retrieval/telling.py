"""How much a turn of talk tells: "Where did you go?" shares its words with the question, and the answer comes after it.

Three things, which say so in any talk and need no model: it asks; it speaks of who is spoken to, and not of who
speaks (or the reverse, to a question about what was said to who asks it); it is short. Each alone finds more evidence,
and all three together the most (docs/retrieval.md).
"""

from __future__ import annotations

import math
import re
from typing import Final

from ...schemas import Memory
from ..index import is_question, sentences

_READ: Final = 1000
_LONG: Final = 60
"""UTF-8 bytes of a text that is e times less short: a dozen English words, twenty Chinese characters."""

_WORDS: Final = re.compile(r"[^a-z']+")
_SPOKEN_TO: Final = frozenset("you your yours yourself you're you've you'll you'd".split())  # noqa: SIM905
_SPEAKING: Final = frozenset("i me my mine myself we us our ours i'm i've i'll i'd we're we've we'll we'd".split())  # noqa: SIM905


def telling(memory: Memory) -> float:
    """0…1 for a turn of talk; 1 is a long statement about who speaks."""
    text = memory.content[:_READ]
    spoken_to, speaking = _spoken_of(text)
    return 1 - (_asked(text) + spoken_to / (spoken_to + speaking + 1) + _brevity(text)) / 3


def telling_you(memory: Memory) -> float:
    """Likewise; 1 is a long statement about who is spoken to: "What did you recommend to me?" asks for that."""
    text = memory.content[:_READ]
    spoken_to, speaking = _spoken_of(text)
    return 1 - (_asked(text) + speaking / (spoken_to + speaking + 1) + _brevity(text)) / 3


def _asked(text: str) -> float:
    """The share of ``text`` that is questions."""
    if "?" not in text and "？" not in text:
        return 0.0
    return min(1.0, sum(map(len, filter(is_question, sentences(text)))) / len(text))


def _brevity(text: str) -> float:
    return math.exp(-len(text.encode()) / _LONG)


def _spoken_of(text: str) -> tuple[int, int]:
    """How often who is spoken to is spoken of, and how often who speaks."""
    words = _WORDS.split(text.lower().replace("’", "'"))
    spoken_to, speaking = sum(map(_SPOKEN_TO.__contains__, words)), sum(map(_SPEAKING.__contains__, words))
    if not text.isascii():
        spoken_to += text.count("你") + text.count("您")
        speaking += text.count("我") + text.count("咱")
    return spoken_to, speaking
