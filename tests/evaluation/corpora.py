"""What is evaluated on: memories as an agent would store them, and questions with the memories that answer them."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from afterwit.memory_node.index import IndexFilter
from afterwit.schemas import Link, Memory, TimeRange
from afterwit.schemas.words import Kind, Tier
from tests.evaluation import memorybank
from tests.evaluation.locomo import Conversation
from tests.evaluation.measures import Evidence, all_of
from tests.samples import memory

_KINDS: Final[dict[str, Kind]] = {
    "fact": "fact",
    "preference": "preference",
    "rule": "procedure",
    "lesson": "lesson",
}
_LAST_DAY: Final = datetime(2026, 5, 31, tzinfo=UTC)
"""The day after the last memory of the cases: their questions without a ``now`` are asked then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question: ``relevant`` holds labels, best first where ``ordered``; ``half`` is of a fixed split by hash."""

    text: str
    relevant: Evidence
    category: str
    now: datetime
    where: IndexFilter
    time_zone: str | None = None
    ordered: bool = False

    @property
    def half(self) -> int:
        """0 or 1, by the text alone."""
        return hashlib.sha256(self.text.encode()).digest()[0] % 2


@dataclass(frozen=True, slots=True)
class Corpus:
    """``labels`` say which of the corpus's own ids a memory is."""

    name: str
    memories: tuple[Memory, ...]
    labels: dict[str, str]
    questions: tuple[Asked, ...]
    languages: dict[str, str] = field(default_factory=dict)


def of_conversation(conversation: Conversation, *, pool: str | None = None) -> Corpus:
    """A conversation as its agent would store it, in the agent's private pool if not in ``pool``."""
    pool = pool or f"agent/{conversation.id}"
    memories = []
    labels = {}
    for seq, turn in enumerate(conversation.turns, 1):
        stored = memory(
            turn.text,
            pool=pool,
            id=_id(conversation.id, turn.id),
            occurred_at=turn.at,
            seq=seq,
            author=conversation.id,
            session_id=f"{conversation.id}-{turn.session}",
            turn=turn.number,
        )
        memories.append(stored)
        labels[stored.id] = turn.id
    questions = tuple(
        Asked(
            text=q.text,
            relevant=q.evidence,
            category=q.category,
            now=conversation.turns[-1].at,
            where=IndexFilter(pools=(pool,)),
        )
        for q in conversation.questions
    )
    return Corpus(conversation.id, tuple(memories), labels, questions)


def of_memorybank(folder: Path, language: memorybank.Language, *, together: bool = False) -> Corpus:
    """All users' conversations, in a pool each or ``together`` in one; a question is asked of its user's pool."""
    pool = _pool("memorybank") if together else None
    users = [of_conversation(talk, pool=pool) for talk in memorybank.load(folder, language, named=together)]
    return Corpus(
        f"memorybank-{language}{'-together' if together else ''}",
        tuple(
            msgspec.structs.replace(stored, seq=seq)
            for seq, stored in enumerate((stored for user in users for stored in user.memories), 1)
        ),
        {id: label for user in users for id, label in user.labels.items()},
        tuple(question for user in users for question in user.questions),
    )


def of_cases(folder: Path) -> Corpus:
    """The labelled cases: eight pools, two languages."""
    rows = _lines(folder / "memories.jsonl")
    memories = []
    for seq, row in enumerate(rows, 1):
        tier: Tier = "semantic" if row["tier"] == "procedural" else row["tier"]
        kind = "procedure" if row["tier"] == "procedural" else _KINDS.get(row["kind"], "note")
        memories.append(
            memory(
                row["content"],
                pool=_pool(row["pool"]),
                id=_id("cases", row["id"]),
                tier=tier,
                kind=kind,
                occurred_at=_time(row["at"]),
                entities=tuple(row["entities"]),
                tags=tuple(row["tags"]),
                task_type=row["task_type"] or None,
                links=tuple(Link(rel="caused_by", target=_id("cases", cause)) for cause in row.get("caused_by") or ()),
                seq=seq,
            )
        )
    labels = {stored.id: row["id"] for stored, row in zip(memories, rows, strict=True)}
    every_pool = tuple(sorted({stored.pool for stored in memories}))
    questions = tuple(_asked(row, every_pool) for row in _lines(folder / "queries.jsonl"))
    languages = {row["query"]: row["lang"] for row in _lines(folder / "queries.jsonl")}
    return Corpus("cases", tuple(memories), labels, questions, languages)


def _asked(row: dict[str, Any], every_pool: Sequence[str]) -> Asked:
    given = row["filters"]
    pools = given.get("pool")
    time = given.get("time_range")
    tier = given.get("tier")
    return Asked(
        text=row["query"],
        relevant=all_of(row["relevant"]),
        category=row["type"],
        now=_time(row["now"]) if row.get("now") else _LAST_DAY,
        time_zone="Asia/Shanghai" if row["lang"] == "zh" else None,
        where=IndexFilter(
            pools=tuple(map(_pool, [pools] if isinstance(pools, str) else pools)) if pools else tuple(every_pool),
            tier="semantic" if tier == "procedural" else tier,
            entities=tuple(given.get("entities", ())),
            tags=tuple(given.get("tags", ())),
            task_type=given.get("task_type"),
            time_range=TimeRange(start=_time(time[0]), end=_time(time[1])) if time else None,
        ),
        ordered=row["type"] == "superseded",
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _pool(name: str) -> str:
    return "shared/" + name.replace(".", "-")


def _id(corpus: str, label: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{corpus}/{label}"))


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def texts(memories: Iterable[Memory]) -> list[str]:
    """Their contents."""
    return [memory.content for memory in memories]
