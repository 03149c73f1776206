"""LoCoMo (snap-research, 2024): very long conversations, and questions with the turns that answer them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tests.evaluation.measures import Evidence, all_of

CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_DIA_ID: Final = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True)
class DialogueTurn:
    """One turn: ``text`` is ``speaker: text (caption)``, as it is stored and searched."""

    id: str
    session: int
    number: int
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the ids of the turns that answer it."""

    text: str
    evidence: Evidence
    category: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """All turns in order, and the questions that have evidence."""

    id: str
    turns: tuple[DialogueTurn, ...]
    questions: tuple[Question, ...]


def load(path: Path) -> dict[str, Conversation]:
    """All conversations of a LoCoMo file by id."""
    samples = json.loads(path.read_text(encoding="utf-8"))
    return {sample["sample_id"]: _conversation(sample) for sample in samples}


def _conversation(sample: dict[str, Any]) -> Conversation:
    talk = sample["conversation"]
    numbers = sorted(int(m[1]) for key in talk if (m := re.fullmatch(r"session_(\d+)", key)))
    turns = tuple(turn for number in numbers for turn in _turns(talk, number))
    known = {turn.id for turn in turns}
    questions = []
    for qa in sample["qa"]:
        evidence = frozenset(id for field in qa.get("evidence", ()) for id in _DIA_ID.findall(field)) & known
        if evidence:
            questions.append(Question(qa["question"], all_of(sorted(evidence)), CATEGORIES[qa["category"]]))
    return Conversation(sample["sample_id"], turns, tuple(questions))


def _turns(talk: dict[str, Any], session: int) -> list[DialogueTurn]:
    began = datetime.strptime(talk[f"session_{session}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    turns = []
    for number, turn in enumerate(talk[f"session_{session}"]):
        caption = f" ({turn['blip_caption']})" if turn.get("blip_caption") else ""
        text = f"{turn['speaker']}: {turn['text']}{caption}"
        turns.append(DialogueTurn(turn["dia_id"], session, number, text, began + timedelta(minutes=number)))
    return turns
