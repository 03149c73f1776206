"""Which text of a memory is embedded and which is matched by words, and how a vector travels in the log.

A turn of a conversation, or an event of a session, is seldom understood alone: "Yes, last Friday!" answers no question
without the turn before it and its day. Such a memory is indexed together with these; what is returned is the memory
itself. One vector of the whole and one list of weighted words do as well as two of each (docs/retrieval.md).
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...schemas import Embedding, LogEntry, Memory
from ...schemas.log_entry import TurnBefore
from ...schemas.words import EVENT_KINDS, Kind
from .analysis import SparseWeights, is_question, language, sentences, term_numbers, weighed_document

RECIPE: Final = "content/1"
"""How `embedded_text` makes the text of a memory that stands alone; stands beside each vector in the log."""
CONTEXT_RECIPE: Final = "context/2"
"""Likewise of a memory in a conversation: what the turn before left open, itself. (``context/1`` had the day and the
whole turn before, which blurred what is said; both are among its words.)"""

CONTEXT_WEIGHT: Final = 0.5
"""What a word of the turn before counts beside one of the memory's own; .35 to .7 do equally well."""
DATA_WEIGHT: Final = 0.5
MAX_BEFORE: Final = 400
"""Characters of the turn before that are embedded: the model reads about 2000 in all."""
MAX_DIGEST: Final = 2000
"""Characters of ``data`` that can be found by; all of it is one read of the memory away."""
MAX_CONTEXT_TERMS: Final = 256
_EMBEDDED_DIGEST: Final = 400

_SPEAKER: Final = re.compile(r"\s*((?:[^\W\d_a-z][^\W\d_]*(?:[ '’.-]+|(?=[:：]))){1,3}|[\u4e00-\u9fff]{2,4})[:：]\s*\S")
_TALK: Final[frozenset[Kind]] = EVENT_KINDS | {"note"}
_MONTHS: Final = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)


def speaker(memory: Memory) -> str | None:
    """Who says it, if it may be a turn of talk in the usual form ``Name: text``; a heading may look like a name."""
    if memory.kind not in _TALK or memory.tier == "semantic":
        return None
    said = talk(memory.content)
    return said[0] if said else None


def talk(text: str) -> tuple[str, str] | None:
    """Who says it, and what, if ``text`` has the form ``Name: text``."""
    match = _SPEAKER.match(text)
    return (match[1].rstrip(), text[match.end() - 1 :]) if match else None


def is_turn(memory: Memory) -> bool:
    """Whether ``memory`` is one of a run of events, to be understood with what was before."""
    return memory.session_id is not None or memory.kind in EVENT_KINDS


def recipe(memory: Memory, *, has_before: bool) -> str:
    """How the text of ``memory`` is made."""
    return CONTEXT_RECIPE if has_before or is_turn(memory) else RECIPE


def embedded_text(memory: Memory, before: str | None = None) -> str:
    """The text whose vector stands for ``memory``. ``before`` is the content of the turn before it."""
    parts = [memory.content]
    if digest := digest_of(memory.data, _EMBEDDED_DIGEST, prose=True):
        parts.append(digest)
    if before:
        parts.insert(0, left_open(before))
    return "\n".join(parts)


def left_open(before: str) -> str:
    """What the turn after ``before`` takes up: its questions, or if it asks none its last sentence."""
    spoken = sentences(before)
    return " ".join(filter(is_question, spoken) if any(map(is_question, spoken)) else spoken[-1:])[-MAX_BEFORE:]


def words_text(memory: Memory) -> str:
    """The text whose words find ``memory``: its content, and the names, tags and task that were given with it."""
    return "\n".join((memory.content, *memory.entities, *memory.tags, memory.task_type or ""))


def document(entry: LogEntry) -> SparseWeights:
    """The weighted words of an entry's memory: its own, those of its data, and those of its context."""
    memory = entry.memory
    counts: Counter[int] = Counter(term_numbers(words_text(memory)))
    weights: dict[int, float] = {number: float(count) for number, count in counts.items()}
    if digest := digest_of(memory.data, MAX_DIGEST):
        _add(weights, Counter(term_numbers(digest)), DATA_WEIGHT)
    if entry.before is not None or is_turn(memory):
        _add(weights, Counter(_numbers_of_day(date_words(memory.occurred_at, memory.content))), 1.0)
    if entry.before is not None:
        _add(weights, Counter(np.frombuffer(entry.before.terms, dtype="<u4").tolist()), CONTEXT_WEIGHT)
    return weighed_document(weights)


def turn_before(memory: Memory) -> TurnBefore:
    """``memory`` as what the turn after it is indexed together with."""
    numbers = term_numbers(memory.content)[:MAX_CONTEXT_TERMS]
    return TurnBefore(id=memory.id, terms=np.array(numbers, dtype="<u4").tobytes())


def date_words(at: datetime, text: str) -> str:
    """The day in words of the language of ``text``."""
    if language(text) == "zh":
        return f"{at.year}年{at.month}月{at.day}日"
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}"


@functools.lru_cache(maxsize=4096)
def _numbers_of_day(words: str) -> list[int]:
    return term_numbers(words)


def digest_of(data: Any, limit: int, *, prose: bool = False) -> str:
    """The texts in ``data``, in order, up to ``limit`` characters; with ``prose`` only those of several words."""
    parts: list[str] = []
    length = 0
    for text in _texts(data):
        if prose and not (" " in text or (len(text) >= 6 and language(text) == "zh")):
            continue
        parts.append(text[: limit - length])
        length += len(parts[-1])
        if length >= limit:
            break
    return "\n".join(parts)


def embedding(model: str, vector: NDArray[np.float32], recipe: str = RECIPE) -> Embedding:
    """``vector``, as ``model`` gave it, for the log: little-endian half precision."""
    return Embedding(model=model, recipe=recipe, values=vector.astype("<f2").tobytes())


def raw_vector(embedding: Embedding) -> NDArray[np.float32]:
    """The vector of a log entry, as the model gave it."""
    return np.frombuffer(embedding.values, dtype="<f2").astype(np.float32)


def _add(weights: dict[int, float], counts: Counter[int], each: float) -> None:
    for number, count in counts.items():
        weights[number] = weights.get(number, 0.0) + each * count


def _texts(data: Any) -> Iterator[str]:
    stack = [data]
    while stack:
        match stack.pop():
            case str() as text if text:
                yield text
            case dict() as pairs:
                stack.extend(reversed(list(pairs.values())))
            case list() as items:
                stack.extend(reversed(items))
            case _:
                pass
