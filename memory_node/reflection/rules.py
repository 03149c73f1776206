"""The rule-based reflector: lessons, wishes, preferences and facts of a session; what recurs over a pool's episodes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

from ...schemas import Fact, Memory
from ...schemas.reflection import ReflectOperation, StoreOperation, UpdateOperation
from ...schemas.words import EVENT_KINDS
from .confidence import distinct_evidence
from .discipline import judge_worth, same_again
from .entities import salient_entities
from .facts import compare_facts, predicate, subject
from .keeping import conditions, squeezed
from .lessons import lessons
from .patterns import Pattern, find_patterns
from .reflector import MOST_OPERATIONS, Material
from .relations import is_exclusive, relation
from .sentences import sentences, shortened
from .thinking import Thinking

NAME: Final = "rules/1"
_MOST_EVIDENCE: Final = 256
_LONGEST: Final = 2000


class RuleReflector:
    """Implements `Reflector` by the rules of this package, without a model."""

    name = NAME

    def __init__(self, thinking: Thinking) -> None:
        self._thinking = thinking

    async def reflect(self, material: Material) -> list[ReflectOperation]:
        """See `Reflector`."""
        return await self._thinking.run(
            operations, material.events, material.episodes, material.knowledge, focus=material.job.focus
        )


def operations(
    events: Sequence[Memory], episodes: Sequence[Memory], knowledge: Sequence[Memory], *, focus: str | None = None
) -> list[ReflectOperation]:
    """What rules draw from a session's events and a pool's episodes, beside what is known already."""
    told = [event for event in events if event.kind in EVENT_KINDS]
    learned = list(_lessons(told, knowledge))
    said = [*_wishes(told, knowledge), *_facts(told, knowledge)]
    found = [*_most_important(said, MOST_OPERATIONS - len(learned)), *learned]
    if not events or focus:
        found += _patterns(episodes, knowledge)
    return found


def _most_important(wishes: list[ReflectOperation], most: int) -> list[ReflectOperation]:
    """At most so many of ``wishes``, in the order in which they were said: the others stay in the episode alone."""
    best = sorted(range(len(wishes)), key=lambda i: (-_importance(wishes[i]), -i))[:most]
    return [wishes[i] for i in sorted(best)]


def _importance(operation: ReflectOperation) -> float:
    return operation.importance if isinstance(operation, StoreOperation) else 1.0


def _lessons(events: Sequence[Memory], knowledge: Sequence[Memory]) -> Iterator[ReflectOperation]:
    if not events:
        return
    known = [memory for memory in knowledge if memory.kind == "lesson"]
    entities = tuple(salient_entities([(event.kind, event.content) for event in events], (), 12))
    for lesson in lessons(events):
        content = shortened(lesson.content, _LONGEST)
        key = _key("lesson", events[0].session_id, content)
        again = _same(content, known, key)
        if again is not None:
            if not _shown_by(again, lesson.because):
                yield UpdateOperation(id=again.id, evidence=lesson.because, because=f"seen again: {lesson.reason}")
            continue
        own = tuple(name for name in entities if squeezed(name) in squeezed(content))
        yield StoreOperation(
            content=content,
            kind="lesson",
            evidence=lesson.because,
            because=lesson.reason,
            entities=own,
            importance=0.7,
            key=key,
        )


def _wishes(events: Sequence[Memory], knowledge: Sequence[Memory]) -> Iterator[ReflectOperation]:
    """What the user wants, likes and forbids, in the user's own words."""
    known = [memory for memory in knowledge if memory.kind in ("preference", "fact")]
    for event in events:
        if event.kind != "user_input":
            continue
        for sentence in conditions(event.content):
            if _exact(sentence) is not None:
                continue
            verdict = judge_worth(sentence, event.kind)
            if not verdict.keep or verdict.worth not in ("wish", "preference", "constraint", "correction"):
                continue
            content = shortened(sentence, _LONGEST)
            key = _key("wish", event.session_id, content)
            again = _same(content, known, key)
            if again is not None:
                if not _shown_by(again, (event.id,)):
                    yield UpdateOperation(id=again.id, evidence=(event.id,), because=f"said again: {verdict.reason}")
                continue
            names = tuple(salient_entities([(event.kind, content)], (), 8))
            yield StoreOperation(
                content=content,
                kind="preference",
                evidence=(event.id,),
                because=verdict.reason,
                entities=names,
                importance=verdict.importance,
                key=key,
            )


def _facts(events: Sequence[Memory], knowledge: Sequence[Memory]) -> Iterator[ReflectOperation]:
    """What the user says of a thing that has one value at a time, as facts that can be compared exactly."""
    known = [memory for memory in knowledge if memory.fact is not None]
    for event in events:
        if event.kind != "user_input":
            continue
        for sentence in sentences(event.content):
            fact = _exact(sentence)
            if fact is None:
                continue
            again = next((memory for memory in known if _is_same(memory.fact, fact)), None)
            if again is not None:
                if not _shown_by(again, (event.id,)):
                    yield UpdateOperation(id=again.id, evidence=(event.id,), because="said again")
                continue
            yield StoreOperation(
                content=sentence,
                kind="fact",
                evidence=(event.id,),
                because=f"the user states a fact ({fact.predicate})",
                entities=tuple(salient_entities([(event.kind, sentence)], (), 8)),
                fact=fact,
                importance=0.7,
                key=_key("fact", None, f"{subject(fact)} {predicate(fact)} {fact.object}"),
            )


def _exact(sentence: str) -> Fact | None:
    fact = relation(sentence)
    return fact if fact is not None and is_exclusive(fact) else None


def _is_same(known: Fact | None, fact: Fact) -> bool:
    compared = compare_facts(known, fact) if known is not None else None
    return compared is not None and compared.relation == "equal"


def _patterns(episodes: Sequence[Memory], knowledge: Sequence[Memory]) -> Iterator[ReflectOperation]:
    by_key = {key: memory for memory in knowledge if (key := _key_of(memory)) is not None}
    for pattern in find_patterns(distinct_evidence(episodes)):
        key = _pattern_key(pattern)
        evidence = pattern.supporting[:_MOST_EVIDENCE]
        against = () if pattern.form == "reversal" else pattern.contradicting[:_MOST_EVIDENCE]
        because = f"{pattern.form}: {len(pattern.supporting)} episodes for it, {len(pattern.contradicting)} against"
        there = by_key.get(key)
        if there is None:
            yield StoreOperation(
                content=pattern.statement,
                kind="preference" if pattern.form == "choice" else "lesson",
                evidence=evidence,
                contradicting=against,
                because=because,
                entities=pattern.about,
                importance=0.8,
                key=key,
            )
        elif not _shown_by(there, (*evidence, *against)):
            yield UpdateOperation(
                id=there.id, content=pattern.statement, evidence=evidence, contradicting=against, because=because
            )


def _pattern_key(pattern: Pattern) -> str:
    about = ", ".join(sorted(name.casefold() for name in pattern.about))
    return shortened(f"pattern: {pattern.form}: {about}", 190)


def _key(what: str, session_id: str | None, content: str) -> str:
    digest = hashlib.sha256(f"{session_id}\0{squeezed(content)}".encode()).hexdigest()[:24]
    return f"{what}: {digest}"


def _key_of(memory: Memory) -> str | None:
    """The key under which a reflector stored it; in what others stored, anything may stand in its place."""
    key = memory.data.get("key") if isinstance(memory.data, dict) else None
    return key if isinstance(key, str) else None


def _same(content: str, known: Sequence[Memory], key: str) -> Memory | None:
    for memory in known:
        if _key_of(memory) == key:
            return memory
    at = same_again(content, [memory.content for memory in known])
    return None if at is None else known[at]


def _shown_by(memory: Memory, ids: Sequence[str]) -> bool:
    """Whether all of ``ids`` are among its evidence already."""
    cited = {link.target for link in memory.links if link.rel in ("derived_from", "supports", "contradicts")}
    return set(ids) <= cited
