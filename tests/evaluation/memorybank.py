"""MemoryBank (Zhong 2023): talk of fifteen users with a companion on ten days, and questions about it; two languages.

Which turns answer is in ``memorybank.txt``, labelled for this project before anything was run on it. Nothing is chosen
by looking at this corpus: it shows how memories are found that nobody had in view.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

from tests.evaluation.locomo import Conversation, DialogueTurn, Question
from tests.evaluation.measures import Evidence

Language = Literal["en", "zh"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")

_LABELS: Final = Path(__file__).with_suffix(".txt")
_NAMES: Final[dict[Language, str]] = {"en": "en", "zh": "cn"}
"""What the corpus calls them."""
_COMPANION: Final[dict[Language, str]] = {"en": "Companion", "zh": "同伴"}
_SAID_BY: Final = {"q": "the user", "r": "the companion"}
_COLON: Final[dict[Language, str]] = {"en": ": ", "zh": "："}
_HOUR: Final = 12
"""The corpus dates days only; noon is on the same day in every time zone that the users may be in."""


def load(folder: Path, language: Language, *, named: bool = False) -> list[Conversation]:
    """One conversation of each user, a session a day; what the user says and the reply are a turn each.

    ``named`` puts the user's name before the questions, as before the turns: who asks has to be said where all have one
    pool. A question that the history does not answer is there, without evidence.
    """
    name = _NAMES[language]
    bank = json.loads((folder / name / f"memory_bank_{name}.json").read_text(encoding="utf-8"))
    lines = (folder / name / f"probing_questions_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    asked = {user.strip(): questions for line in lines for user, questions in json.loads(line).items()}
    labels = _labels(language)
    conversations = []
    for number, (key, kept) in enumerate(bank.items(), start=1):
        user = key.strip()
        turns = tuple(turn for day in enumerate(kept["history"].items(), 1) for turn in _turns(user, language, *day))
        before = f"{user}{_COLON[language]}" if named else ""
        questions = tuple(
            Question(before + text, evidence, _said_by(evidence))
            for text, evidence in zip(asked[user], labels[user], strict=True)
        )
        conversations.append(Conversation(f"memorybank-{language}-{number}", turns, questions))
    return conversations


def _turns(user: str, language: Language, session: int, day: tuple[str, list[dict[str, Any]]]) -> list[DialogueTurn]:
    date, exchanges = day
    began = datetime.fromisoformat(date).replace(hour=_HOUR, tzinfo=UTC)
    turns: list[DialogueTurn] = []
    for number, exchange in enumerate(exchanges):
        for speaker, part in ((user, "query"), (_COMPANION[language], "response")):
            id = f"{user}/{date}/{number}/{part[0]}"
            text = f"{speaker}{_COLON[language]}{exchange[part]}"
            turns.append(DialogueTurn(id, session, len(turns), text, began + timedelta(minutes=len(turns))))
    return turns


def _labels(language: Language) -> dict[str, list[Evidence]]:
    """Of each user's questions, in order, the ids of turns that answer; none where nothing does."""
    labels: dict[str, list[Evidence]] = {}
    part = user = ""
    for line in _LABELS.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            part = line.removeprefix("## ")
        elif part != language or not line:
            continue
        elif ": " not in line:
            user = line
            labels[user] = []
        else:
            labels[user].append(_evidence(user, line.split(": ", 1)[1]))
    return labels


def _evidence(user: str, written: str) -> Evidence:
    if written == "-":
        return ()
    return tuple(frozenset(f"{user}/{id}" for id in group.split(" | ")) for group in written.split(" & "))


def _said_by(evidence: Evidence) -> str:
    speakers = {_SAID_BY[id[-1]] for group in evidence for id in group}
    return speakers.pop() if len(speakers) == 1 else "either"
