"""Lessons of a session: what failed and what helped, what the user set right, what the agent would do next time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ...schemas import Memory
from . import cues
from .keeping import squeezed
from .outcome import failed
from .sentences import call, language_of, sentences, shortened

Reason: TypeAlias = Literal["remedy", "failure", "correction", "advice", "condition"]

MOST: Final = 12
"""Lessons of one session; a long one has the most telling ones first."""
_LOOK_AHEAD: Final = 8


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson, the ids of the events that show it, and why it was taken for one."""

    content: str
    because: tuple[str, ...]
    reason: Reason


_WORDS: Final = {
    "en": {
        "failed": "{what} failed: {how}.",
        "worked": "What worked: {what}",
        "gave": "which gave: {how}.",
        "corrected": "The user set it right: {how}",
        "so": "So: {how}",
    },
    "zh": {
        "failed": "{what} 失败：{how}。",
        "worked": "有效的做法：{what}",
        "gave": "结果：{how}。",
        "corrected": "用户纠正：{how}",
        "so": "应对：{how}",
    },
}
_CAUSE: Final = re.compile(
    r"\b(?:because|cause|renamed|need(?:s|ed)?|must|should|carry|carries|is made of|does not|doesn't|"
    r"depends?|only|lacks?|unknown|hard|"
    r"breaks?|rules? out|holds with|applies|apply|same|not|without|if)\b"
    r"|因为|原因|所以|应该|必须|需要|不能|不是|确认|可能|其实|大多|没有|缺|退化|忘了|同样|超过|只有|改找|"
    r"怀疑|不合理|对不上",
    re.IGNORECASE,
)
_RECALLS: Final = re.compile(
    r"\b(?:condition|first message|limit|allergy|constraint|rules? it out|breaks? the|hard limit|"
    r"promised)\b|约束|开头|条件|不合适|不妥|第一句|限制|用户说不能",
    re.IGNORECASE,
)


def lessons(events: Sequence[Memory]) -> list[Lesson]:
    """Lessons of ``events`` (one session, in order), the most telling first, no two alike."""
    tongue = language_of([event.content for event in events if event.kind != "tool_call"] or [""])
    found = [*_failures(events, tongue), *_corrections(events, tongue), *_advice(events), *_conditions(events)]
    rank: dict[Reason, int] = {"remedy": 0, "correction": 1, "advice": 2, "failure": 3, "condition": 4}
    chosen: dict[str, Lesson] = {}
    for lesson in sorted(found, key=lambda lesson: rank[lesson.reason]):
        plain = squeezed(lesson.content)
        if not any(plain in other for other in chosen):
            chosen[plain] = lesson
        if len(chosen) == MOST:
            break
    return list(chosen.values())


def _failures(events: Sequence[Memory], tongue: str) -> list[Lesson]:
    by_id = {event.id: event for event in events}
    found = []
    for i, event in enumerate(events):
        if event.kind != "tool_result" or not failed(event):
            continue
        request = _request(event, events[:i], by_id)
        words = _WORDS[tongue]
        what = _told_call(request) if request is not None else ("it" if tongue == "en" else "操作")
        how = _LABEL.sub("", shortened(event.content, 160)).rstrip("。.")
        parts = [words["failed"].format(what=what, how=how or event.content.strip())]
        because = [*([request.id] if request is not None else []), event.id]
        ahead = events[i + 1 : i + 1 + _LOOK_AHEAD]
        for thought in _thoughts(ahead):
            parts.append(shortened(thought.content, 240))
            because.append(thought.id)
        remedy = _remedy(ahead, request)
        if remedy is not None:
            did, result = remedy
            how = words["gave"].format(how=shortened(result.content, 160).rstrip("。."))
            parts.append(
                f"{words['worked'].format(what=_told_call(did, request))}{'，' if tongue == 'zh' else ', '}{how}"
            )
            because += [did.id, result.id]
        found.append(Lesson(" ".join(parts), tuple(because), "remedy" if remedy is not None else "failure"))
    return found


def _request(result: Memory, before: Sequence[Memory], by_id: dict[str, Memory]) -> Memory | None:
    for link in result.links:
        cause = by_id.get(link.target)
        if link.rel == "caused_by" and cause is not None and cause.kind == "tool_call":
            return cause
    return next((event for event in reversed(before) if event.kind == "tool_call"), None)


def _thoughts(ahead: Sequence[Memory]) -> list[Memory]:
    """What the agent made of it, before it heard from a tool or the user again."""
    found = []
    for event in ahead:
        if event.kind == "agent_thought":
            found.append(event)
        elif event.kind in ("user_input", "final_answer", "tool_result"):
            break
    return found


def _remedy(ahead: Sequence[Memory], request: Memory | None) -> tuple[Memory, Memory] | None:
    """The next call that went well, if it was another try at the same: the same tool, or the same object."""
    pending: Memory | None = None
    for event in ahead:
        if event.kind == "tool_call":
            pending = event
        elif event.kind == "tool_result" and pending is not None:
            if not failed(event) and (request is None or _akin(request, pending)):
                return pending, event
            pending = None
    return None


def _akin(a: Memory, b: Memory) -> bool:
    """The same tool, one of its family (ask_restaurant, call_restaurant), or a call about the same things."""
    first, second = call(a.content), call(b.content)
    if first is None or second is None:
        return True
    if first[0] == second[0] or set(re.split(r"[_.]", first[0])) & set(re.split(r"[_.]", second[0])) - {
        "get",
        "list",
        "find",
    }:
        return True
    return bool(set(first[1].values()) & set(second[1].values()))


_LABEL: Final = re.compile(r"^(?:error|failed|失败|错误)\s?[:：]\s?", re.IGNORECASE)


def _told_call(event: Memory, before: Memory | None = None) -> str:
    """A call in words: tool, and arguments as they were given; of another try with the same tool what is different."""
    parsed = call(event.content)
    if parsed is None:
        return shortened(event.content, 160)
    name, arguments = parsed
    earlier = call(before.content) if before is not None else None
    if earlier is not None and earlier[0] == name:
        arguments = {key: value for key, value in arguments.items() if earlier[1].get(key) != value} or arguments
    told = ", ".join(f"{key}={shortened(value, 60)}" for key, value in arguments.items())
    return f"{name}({told})"


def _corrections(events: Sequence[Memory], tongue: str) -> list[Lesson]:
    found = []
    answered = False
    for i, event in enumerate(events):
        answered = answered or event.kind in ("final_answer", "agent_thought")
        if event.kind != "user_input" or not answered or i == 0:
            continue
        objects = cues.CORRECTION.search(event.content) or cues.CONSTRAINT.search(event.content)
        if not (objects and (event.importance >= 0.7 or _OBJECTS.search(event.content))):
            continue
        parts = [_WORDS[tongue]["corrected"].format(how=shortened(event.content, 240))]
        thoughts = _thoughts(events[i + 1 : i + 4])
        parts += [_WORDS[tongue]["so"].format(how=shortened(thought.content, 200)) for thought in thoughts]
        found.append(Lesson(" ".join(parts), (event.id, *(thought.id for thought in thoughts)), "correction"))
    return found


_OBJECTS: Final = re.compile(
    r"^(?:no\b|wait|stop|wrong|actually)|\bi (?:said|told you|meant)\b|^(?:不|等一下|错)|不是.{0,12}[，,]|说过|就说了",
    re.IGNORECASE,
)


def _advice(events: Sequence[Memory]) -> list[Lesson]:
    """What an answer or a thought says to do from now on, or gives as the cause."""
    return [
        Lesson(shortened(sentence, 240), (event.id,), "advice")
        for event in events
        if event.kind in ("final_answer", "agent_thought")
        for sentence in sentences(event.content)
        if _ADVICE.search(sentence) and not sentence.endswith(("?", "？"))
    ]


_ADVICE: Final = re.compile(
    r"\b(?:next time|in future|from now on|should (?:always|be|have|check|use)|always|never|recommend|"
    r"i(?:'d| would) (?:rather|suggest|recommend|ship|stay|use)|"
    r"safer|better to|make sure|suggest(?:ion)?|lesson|turns? out|root cause|renamed|does not speak|carry a)\b"
    r"|建议|下次|以后要|今后|应当|应该|务必|教训|原因是|原来是|根本原因|改用|会让",
    re.IGNORECASE,
)


def _conditions(events: Sequence[Memory]) -> list[Lesson]:
    """Where a condition from the beginning decided something later."""
    return [
        Lesson(shortened(event.content, 240), (event.id,), "condition")
        for event in events[3:]
        if event.kind == "agent_thought" and _RECALLS.search(event.content) and _CAUSE.search(event.content)
    ]
