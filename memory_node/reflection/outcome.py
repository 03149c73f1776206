"""How a session ended: success, failure, partial or unknown; and what the user said to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from ...schemas import Memory
from ..simplified import simplified
from . import cues
from .sentences import sentences

Outcome: TypeAlias = Literal["success", "failure", "partial", "unknown"]

_UNDONE: Final = re.compile(
    r"\b(?:could ?n[o']t|couldn't|was ?n[o']t able|unable to|did ?n[o']t (?:work|help|succeed|get|manage|"
    r"go through|arrive)|not (?:yet )?(?:been )?"
    r"(?:booked|done|sent|fixed|solved|possible|finished|delivered|resolved|completed|ordered|confirmed|"
    r"reachable|available)|has to wait|have to wait|"
    r"remains? (?:open|broken|unsolved|pending)|still (?:open|broken|down|failing|pending|missing|waiting)|"
    r"(?:off|disabled|on hold|postponed|unchanged)\b[^.;]{0,40}\b(?:until|for now)|until \w+ (?:\w+ "
    r")?(?:is|are|has|have) (?:been )?(?:upgraded|fixed|repaired|approved|available)|"
    r"only (?:part|half|some|\d+ of)|partly|partially|no (?:way|luck|success)|gave up|failed to|cannot be|can't be)\b"
    r"|没能|未能|没有?(?:解决|成功|完成|发出去|找到|办成|订到|修好|查出)|解决不了|无法|办不到|做不到|"
    r"未(?:订|完成|解决|处理|发出|恢复|办)|暂(?:不|未|时没)|先不(?:订|办|发|做)|"
    r"还(?:没有?|差|剩)(?:订|完成|解决|处理|发|办|修|法)?|(?:只|仅)(?:完成|解决|恢复|办)了?(?:一半|部分)|"
    r"部分(?:完成|解决|恢复)|搁置|失败了|仍(?:然)?(?:不|未|没)",
    re.IGNORECASE,
)
_ACHIEVED: Final = re.compile(
    r"\b(?:done|booked|confirmed|merged|fixed|resolved|restored|ordered|completed|ready|solved|delivered|"
    r"shipped|updated|scheduled|refunded|upgraded|deployed|"
    r"recovered|arranged|installed|created|works? (?:now|again|fine)|it works|all \d+ passed|passed|sent|"
    r"held|reserved|in place|succeeded|successfully|yes)\b"
    r"|完成|已(?!满|经?(?:停|断|坏|满))|好了|搞定|成功|恢复(?!不)|修好|解决了|全过|通过|订好|约好|改好|"
    r"建好|办好|可以关|搜到|找回|占住|腾出",
    re.IGNORECASE,
)


def outcome(events: Sequence[Memory]) -> Outcome:
    """The outcome as the last answer and what came after it tell it."""
    last = next((i for i in range(len(events) - 1, -1, -1) if events[i].kind == "final_answer"), None)
    if last is None:
        return _without_answer(events)
    told = _of_answer(events[last].content)
    after = events[last + 1 :]
    results = [event for event in after if event.kind == "tool_result"]
    if results:
        worked = not failed(results[-1])
        if told == "success":
            return "success" if worked else "partial"
        if told == "unknown" or (told == "failure" and worked and len(results) > 1):
            return "success" if worked else "failure"
    feedback = [simplified(event.content) for event in after if event.kind == "user_input"]
    if told == "unknown" and feedback:
        return "success" if cues.PLEASED.search(feedback[-1]) and not cues.SCORN.search(feedback[-1]) else "unknown"
    if told == "success" and feedback and cues.SCORN.search(feedback[-1]) and not cues.PLEASED.search(feedback[-1]):
        return "partial"
    return told


def failed(event: Memory) -> bool:
    """Whether a tool result is an error or empty: by its data, or by its words."""
    return is_failure(event.content, event.data)


def is_failure(text: str, data: object = None) -> bool:
    """`failed`, for the text and the data of a result."""
    if isinstance(data, dict):
        if any(data.get(key) for key in ("error", "errors", "exception", "failed")):
            return True
        if any(key in data and not data[key] for key in ("count", "found", "total")):
            return True
    text = simplified(text.strip())
    if re.search(
        r"\b0 (?:errors?|failed|failures?)\b|no errors|没有(?:错误|报错|告警)|无(?:错误|告警)", text, re.IGNORECASE
    ):
        return False
    return text in ("", "[]", "{}", "null", "None") or cues.FAILED.search(text) is not None


def _of_answer(text: str) -> Outcome:
    parts = sentences(simplified(text))
    undone = [i for i, part in enumerate(parts) if _UNDONE.search(part)]
    achieved = [i for i, part in enumerate(parts) if _ACHIEVED.search(_UNDONE.sub(" ", part))]
    if not undone:
        return "success" if achieved or parts else "unknown"
    if undone[0] == 0 and not _ACHIEVED.search(_UNDONE.split(parts[0])[0]) and not (set(achieved) - {0}):
        return "failure"
    if _GAVE_UP.search(parts[0]):
        return "failure"
    return "partial" if achieved else "failure"


_GAVE_UP: Final = re.compile(
    r"^(?:unfortunately,? |sorry,? )?i (?:could ?n[o']t|couldn't|was unable|did ?n[o']t manage|failed "
    r"to)\b|^(?:很?抱歉|对不起)?[，,]?\s?(?:没能|未能|没有?解决|无法)",
    re.IGNORECASE,
)


def _without_answer(events: Sequence[Memory]) -> Outcome:
    results = [event for event in events if event.kind == "tool_result"]
    if not results or not any(event.kind == "user_input" for event in events):
        return "unknown"
    return "failure" if failed(results[-1]) else "unknown"


def user_feedback(events: Sequence[Memory]) -> str | None:
    """What the user said about the work after the first answer: praise, complaint, correction; the last three."""
    answered = False
    found = []
    for event in events:
        if event.kind == "final_answer":
            answered = True
        elif event.kind == "user_input" and answered:
            found += [
                part
                for part in sentences(event.content)
                if any(cue.search(simplified(part)) for cue in (cues.PLEASED, cues.SCORN, cues.CORRECTION))
            ]
    return " ".join(found[-3:]) or None
