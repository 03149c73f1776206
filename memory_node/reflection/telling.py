"""Telling a session as one episode: task, conditions, steps, decisions, outcome, feedback, lessons, in its language.

Nothing that must be kept is lost: what `kept` misses after the telling is written is added as details, within the
size that a memory may have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...schemas import Memory
from ...schemas.words import EVENT_KINDS
from . import cues
from .causes import CausalGraph, causal_graph, turn_problems
from .entities import salient_entities
from .keeping import conditions, details, kept, squeezed
from .lessons import Lesson, lessons
from .outcome import Outcome, failed, outcome, user_feedback
from .sentences import call, language_of, sentences, shortened

MAX_CHARACTERS: Final = 16_000
"""Of an episode's content; 64 KiB of UTF-8 hold it in Chinese as well."""
MAX_STEPS: Final = 40
MAX_DECISIONS: Final = 12
MAX_ENTITIES: Final = 24
MAX_PROBLEMS: Final = 12

_WORDS: Final = {
    "en": {
        "task": "Task", "conditions": "Conditions", "answers": "Answers", "outcome": "Outcome",
        "feedback": "Feedback", "lessons": "Lessons", "details": "Details", "said": "Asked", "more": "… {n} more",
        "join": "; ", "colon": ": ",
        "success": "success", "failure": "failure", "partial": "partial", "unknown": "unknown",
    },
    "zh": {
        "task": "任务", "conditions": "条件", "answers": "答复", "outcome": "结果", "feedback": "反馈",
        "lessons": "教训", "details": "细节", "said": "要求", "more": "…… 另有 {n} 项", "join": "；", "colon": "：",
        "success": "成功", "failure": "失败", "partial": "部分完成", "unknown": "未知",
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class EpisodeDraft:
    """An episode to be stored: ``derived_from`` are the ids of its events.

    ``data`` has the contract's fields, and ``problems`` where turns or causes do not fit together.
    ``whole`` unless details of a very long session did not fit; the events hold them.
    """

    content: str
    data: dict[str, Any]
    entities: tuple[str, ...]
    importance: float
    derived_from: tuple[str, ...]
    lessons: tuple[Lesson, ...]
    graph: CausalGraph
    whole: bool = True


def tell(
    events: Sequence[Memory],
    known: Iterable[str] = (),
    *,
    told_outcome: Outcome | None = None,
    told_feedback: str | None = None,
    most: int = MAX_CHARACTERS,
) -> EpisodeDraft:
    """The episode of ``events`` (one session in the order of their turns; others than events are context only).

    ``known`` are names that the pool has. What the caller told about outcome and feedback goes before what is read.

    Raises:
        ValueError: there is no event to tell.
    """
    if not events:
        raise ValueError("there are no events to tell")
    known = tuple(known)
    graph = causal_graph(events)
    learned = lessons(events)
    data = {
        "task": _task(events),
        "steps": _steps(events),
        "decisions": _decisions(events),
        "outcome": told_outcome or outcome(events),
        "user_feedback": told_feedback if told_feedback is not None else user_feedback(events),
        "lessons": [lesson.content for lesson in learned],
    }
    if problems := (*turn_problems(events), *graph.problems):
        data["problems"] = list(problems[:MAX_PROBLEMS])
    content, whole = _content(events, data, known, most)
    return EpisodeDraft(
        content,
        data,
        tuple(salient_entities([(event.kind, event.content) for event in events], known, MAX_ENTITIES)),
        _importance(events, data),
        tuple(event.id for event in events),
        tuple(learned),
        graph,
        whole,
    )


_REQUEST: Final = re.compile(
    r"\b(?:please|want|need|would like|can you|could you|looking for|help|book|find|fix|plan|order|refund|"
    r"bump|translate|check|get|make|restore)\b|[?]"
    r"|请|想|要|帮|需要|能不能|可以.*吗|安排|恢复|翻|找|订|修|查|打不开|不到|[？]",
    re.IGNORECASE,
)


def _task(events: Sequence[Memory]) -> str:
    """The first request of the user, or the first thing said."""
    first = next((event for event in events if event.kind == "user_input"), events[0])
    parts = sentences(first.content)
    asked = next((i for i, part in enumerate(parts) if _REQUEST.search(part)), 0)
    return shortened(" ".join(parts[: asked + 1]) or first.content, 240)


def _steps(events: Sequence[Memory]) -> list[str]:
    """Every call with what came of it; of a long session the first, the last, and the failures between."""
    steps: list[tuple[str, bool]] = []
    waiting: dict[str, int] = {}
    for event in events:
        if event.kind == "tool_call":
            parsed = call(event.content)
            told = (
                event.content
                if parsed is None
                else f"{parsed[0]}({', '.join(f'{k}={v}' for k, v in parsed[1].items())})"
            )
            waiting[event.id] = len(steps)
            steps.append((shortened(told, 160), False))
        elif event.kind == "tool_result":
            cause = next(
                (link.target for link in event.links if link.rel == "caused_by" and link.target in waiting), None
            )
            at = waiting[cause] if cause is not None else len(steps) - 1
            if at >= 0:
                steps[at] = (f"{steps[at][0]} → {shortened(event.content, 160)}", failed(event))
    if len(steps) <= MAX_STEPS:
        return [told for told, _ in steps]
    half = MAX_STEPS // 4
    middle = [told for told, bad in steps[half:-half] if bad][: MAX_STEPS - 2 * half - 1]
    left = len(steps) - 2 * half - len(middle)
    return [*(told for told, _ in steps[:half]), *middle, f"… +{left}", *(told for told, _ in steps[-half:])]


_DECISION: Final = re.compile(
    r"\b(?:instead|rather than|rules? out|left out|i'd|i'll|booked|book that|hold|keep|leave|ship|chose|"
    r"choose|go with|stay with|it is|take|"
    r"moved?|cancel(?:led)?|merged|ordered|one delivery|not suitable|must not|default off)\b"
    r"|改为|改成|改到|改走|去掉|不要|取消|先|决定|建议|选|住|用|保留|不动|默认|约好|同意|换",
    re.IGNORECASE,
)


def _decisions(events: Sequence[Memory]) -> list[str]:
    """What was decided: by the user after the first request, and by answers and thoughts."""
    found: dict[str, None] = {}
    started = False
    for event in events:
        started = started or event.kind == "final_answer"
        if event.kind not in ("final_answer", "agent_thought") and not (event.kind == "user_input" and started):
            continue
        for sentence in sentences(event.content):
            if _DECISION.search(sentence) and not sentence.endswith(("?", "？")) and len(sentence) > 5:
                found.setdefault(shortened(sentence, 200), None)
    return list(found)[-MAX_DECISIONS:]


def _importance(events: Sequence[Memory], data: dict[str, Any]) -> float:
    """0.5, more for what was marked important, for conditions, corrections and failures; at most 0.95."""
    value = 0.5 + 0.3 * (max(event.importance for event in events) - 0.5)
    if any(event.kind == "user_input" and cues.CONSTRAINT.search(event.content) for event in events):
        value += 0.05
    if data["outcome"] in ("failure", "partial"):
        value += 0.1
    if data["lessons"]:
        value += 0.05
    return round(min(0.95, max(0.1, value)), 3)


def _content(events: Sequence[Memory], data: dict[str, Any], known: tuple[str, ...], most: int) -> tuple[str, bool]:
    words = _WORDS[
        language_of(
            [event.content for event in events if event.kind in ("user_input", "final_answer")] or [events[0].content]
        )
    ]
    said = [event for event in events if event.kind == "user_input"]
    answers = [event for event in events if event.kind == "final_answer"]
    lines = [f"{words['task']}{words['colon']}{data['task']}"]
    stated = [sentence for event in said for sentence in conditions(event.content)]
    budget = int(most * 0.7)
    lines += _line(words, "conditions", stated, int(budget * 0.4))
    lines += _line(words, "said", [event.content for event in said[1:]], int(budget * 0.25))
    lines += _line(words, "answers", [event.content for event in answers], int(budget * 0.35))
    ending = [f"{words['outcome']}{words['colon']}{words[data['outcome']]}"]
    if data["user_feedback"]:
        ending.append(f"{words['feedback']}{words['colon']}{shortened(data['user_feedback'], 300)}")
    ending += _line(words, "lessons", data["lessons"], int(most * 0.12))
    text = "\n".join([*lines, *ending])
    return _with_details(text, _required(events, known), words, most)


def _line(words: dict[str, str], name: str, pieces: Sequence[str], most: int) -> list[str]:
    """``Name: piece; piece``; when there are too many, the first third and the last of them."""
    distinct = list(dict.fromkeys(" ".join(piece.split()) for piece in pieces))
    if not distinct:
        return []
    if sum(map(len, distinct)) > most:
        head: list[int] = []
        tail: list[int] = []
        size = 0
        for i in range((len(distinct) + 1) // 2 + 1):
            for side, at in ((head, i), (tail, len(distinct) - 1 - i)):
                if at < len(distinct) and at not in head + tail and size + len(distinct[at]) <= most:
                    side.append(at)
                    size += len(distinct[at])
        chosen = sorted(head + tail)
        left = len(distinct) - len(chosen)
        distinct = [distinct[i] for i in chosen] or [shortened(distinct[0], most)]
        distinct += [words["more"].format(n=left)] if left else []
    return [f"{words[name]}{words['colon']}{words['join'].join(distinct)}"]


def _required(events: Sequence[Memory], known: tuple[str, ...]) -> Iterator[str]:
    """What must be in the telling: conditions that the user stated, then details by who said them.

    Worked out as far as there is room: reading the details of ten thousand events takes longer than a caller waits.
    """
    rank = {"user_input": 0, "final_answer": 1, "agent_thought": 2, "tool_result": 3, "tool_call": 4}
    ordered = sorted(events, key=lambda event: (rank.get(event.kind, 5), -event.importance))
    for event in ordered:
        if event.kind == "user_input":
            yield from conditions(event.content)
    for event in ordered:
        if event.kind in EVENT_KINDS:
            yield from details(event.content, known)


def _with_details(text: str, required: Iterable[str], words: dict[str, str], most: int) -> tuple[str, bool]:
    """``text`` with what it lacks of ``required``, and whether all of that had room."""
    plain = squeezed(text)
    room = most - len(text) - 12
    added: list[str] = []
    whole = True
    for detail in required:
        if squeezed(detail) in plain:
            continue
        if len(detail) + 2 > room:
            whole = False
            break
        added.append(detail)
        plain += "\n" + squeezed(detail)
        room -= len(detail) + 2
    if added:
        text += f"\n{words['details']}{words['colon']}{words['join'].join(added)}"
    return text, whole


def lost(events: Sequence[Memory], draft: EpisodeDraft) -> list[str]:
    """What the user and the answers said that the draft's content lacks: empty for sessions of ordinary length."""
    before = "\n".join(event.content for event in events if event.kind in ("user_input", "final_answer"))
    return kept(before, draft.content)
