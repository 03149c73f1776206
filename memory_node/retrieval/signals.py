"""The signals of a candidate, each 0…1 (1 is best), before anything is made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from ...schemas import Memory
from ..index import Hit, folded, han_share, speaker
from ..when import periods
from .forms import forms_of
from .profiles import Profile
from .question import Question
from .telling import telling, telling_you

_DATES_READ: Final = 300
"""Characters of a memory in which days are looked for, if the query names a time."""
_STANDING: Final = {"active": 1.0, "candidate": 0.5, "disputed": 0.3}
_OTHER_KIND: Final = 0.5
_DAY_S: Final = 86_400.0


def signals_of(
    hits: Sequence[Hit], question: Question, profile: Profile, usefulness: Callable[[str], float]
) -> list[dict[str, float]]:
    """One mapping per hit. ``time`` and ``speaker`` are there only if the query names a time, or says who said it.

    ``present``: whether who is named, or asks, said any of the hits from the same conversation.
    ``telling`` is there for what somebody said, and ``form`` (whether there is a time, a number or a name in it) if the
    query asks for one. ``usefulness`` is 0…1, 0.5 for what nobody said anything about.
    """
    speakers = [hit.once(speaker) if is_talk(hit) else None for hit in hits]
    named = {name for name in set(speakers) if name and question.names(name)}
    asking = {name for name in set(speakers) if name and folded(name) == question.asker}
    there = named | asking
    present = {conversation(hit) for hit, who in zip(hits, speakers, strict=True) if who in there}
    found = []
    for hit, who in zip(hits, speakers, strict=True):
        memory = hit.memory
        semantic = hit.semantic or 0.0
        days = max(0.0, (question.now - memory.occurred_at).total_seconds() / _DAY_S)
        signals = {
            "semantic": semantic,
            "keyword": _keyword(hit, semantic, question, profile.other_language),
            "recency": profile.decay_per_day**days,
            "trust": memory.trust,
            "confidence": memory.confidence,
            "standing": _STANDING.get(memory.status, 0.0),
            "usefulness": usefulness(memory.id),
        }
        if question.periods:
            signals["time"] = float(_in_time(hit, question))
        if named and who:
            signals["speaker"] = float(who in named)
        elif asking and who and (question.of_me or question.told_me):
            signals["speaker"] = float((who in asking) is question.of_me)
        if there and who:
            signals["present"] = float(conversation(hit) in present)
        if who or memory.kind == "user_input":
            if profile.telling:
                signals["telling"] = hit.once(telling_you if question.told_me else telling)
            if question.forms:
                signals["form"] = float(not question.forms.isdisjoint(hit.once(forms_of)))
        if profile.kinds:
            signals["kind"] = profile.kinds.get(memory.kind, _OTHER_KIND)
        found.append(signals)
    return found


def is_talk(hit: Hit) -> bool:
    """Whether a hit is a turn of a conversation or an event of a session."""
    return hit.stored.before is not None or hit.stored.memory.session_id is not None


def conversation(hit: Hit) -> object:
    """What session a hit belongs to; turns of talk without one belong together by their day, all else stands alone."""
    memory = hit.memory
    if memory.session_id is not None:
        return memory.pool, memory.session_id
    if hit.before is not None:
        return memory.pool, memory.author, memory.occurred_at.date()
    return hit.id


def _keyword(hit: Hit, semantic: float, question: Question, other_language: float) -> float:
    """Words are evidence where they can be: in another language's text they are silent, and meaning stands for them."""
    if not other_language or hit.keyword >= other_language * semantic:
        return hit.keyword
    apart = abs(hit.once(_chinese) - question.chinese)
    return max(hit.keyword, other_language * semantic * min(1.0, max(0.0, 1.5 * apart - 0.25)))


def _in_time(hit: Hit, question: Question) -> bool:
    """Whether it happened in one of the periods that the query names, or speaks of a day in one."""
    if any(_within(hit.memory.occurred_at, p.start, p.end) for p in question.periods):
        return True
    return any(
        asked.start and _within(day, asked.start, asked.end) for day in hit.once(_days) for asked in question.periods
    )


def _days(memory: Memory) -> tuple[datetime, ...]:
    """When the days, and weeks at most, begin that it speaks of."""
    spoken = periods(memory.content[:_DATES_READ], memory.occurred_at)
    return tuple(p.start for p in spoken if p.start and p.span.days is not None and p.span.days <= 7)


def _chinese(memory: Memory) -> float:
    return han_share(memory.content)


def _within(at: datetime, start: datetime | None, end: datetime | None) -> bool:
    return (start is None or at >= start) and (end is None or at < end)
