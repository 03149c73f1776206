"""What is worth keeping, told from chatter by rule, with the reason; and what says again what was said before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..simplified import simplified
from . import cues
from .conflicts import LONGEST
from .keeping import details, squeezed
from .outcome import is_failure
from .sentences import sentences
from .statements import Statement
from .values import relation

Worth: TypeAlias = Literal[
    "wish", "preference", "constraint", "failure", "remedy", "result", "correction", "decision", "none"
]

_IMPORTANCE: Final[dict[Worth, float]] = {
    "wish": 0.9,
    "constraint": 0.85,
    "preference": 0.8,
    "correction": 0.8,
    "failure": 0.65,
    "remedy": 0.7,
    "decision": 0.6,
    "result": 0.55,
    "none": 0.2,
}
_CHATTER: Final = re.compile(
    r"^(?:hi|hello|hey|good (?:morning|evening|afternoon)|thanks?(?: you)?(?: (?:so|very) much)?|thank you|"
    r"ok(?:ay)?|great|perfect|fine|sure|yes|no|"
    r"you'?re welcome|bye|see you|cool|nice|lol|haha|hm+|got it|sounds good|no problem|one moment|let me "
    r"(?:see|check|think)|how are you|good point|right|"
    r"你好|您好|早上好|晚上好|谢谢|多谢|好的?|可以|行|嗯+|哦+|哈+|不客气|再见|没问题|稍等|收到|辛苦了|明白|知道了|对)"
    r"(?:[\s,，.。!！~～?？]|$|\b(?:then|there|everyone|again|a lot|for now)\b|啊|呀|了|哈|大家|各位|[你您])*",
    re.IGNORECASE,
)
_DECISION: Final = re.compile(
    r"\b(?:decided?|chose|choose|we(?:'ll| will) (?:use|take|go)|agreed|instead of|booked|ordered|"
    r"merged)\b|决定|选了|定了|改为|改成|采用|订了|同意",
    re.IGNORECASE,
)
_REUSABLE: Final = re.compile(
    r"\b(?:because|cause|root cause|turned out|due to|works? with|requires?|is located|lives in|is called|"
    r"costs?|opens?|closes?|runs? (?:on|at|every)|"
    r"limit|version|default|path|port|address|contact|responsible|owner|deadline|depends on)\b|因为|原因|"
    r"由于|需要|位于|住在|叫做|价格|营业|版本|默认|路径|端口|地址|联系人|负责|截止|依赖|每(?:天|周|月)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a statement is worth keeping, as what, how important it then is (0…1), and the reason in words."""

    keep: bool
    worth: Worth
    importance: float
    reason: str


def judge_worth(text: str, kind: str = "note", *, after_failure: bool = False, data: object = None) -> Verdict:
    """Judge one statement. ``after_failure``: it follows a failed attempt, so that a success is its remedy.

    ``kind`` is the memory's; tool results are kept as failures, remedies or reusable results only.
    """
    worth, reason = _worth(text, kind, after_failure, data)
    return Verdict(worth != "none", worth, _IMPORTANCE[worth], reason)


def _worth(text: str, kind: str, after_failure: bool, data: object) -> tuple[Worth, str]:
    if kind == "tool_result":
        return _worth_of_result(text, after_failure, data)
    bare = _CHATTER.sub("", text.strip()).strip()
    if len(squeezed(bare)) < 3:
        return "none", "greeting, thanks or assent"
    if kind == "tool_call":
        return "none", "a request, not a finding"
    return _worth_of_words(text, bare, kind) or _worth_of_finding(text)


def _worth_of_result(text: str, after_failure: bool, data: object) -> tuple[Worth, str]:
    if is_failure(text, data):
        return "failure", "a tool failed"
    if after_failure:
        return "remedy", "what worked after a failure"
    return ("result", "a result with details") if len(details(text)) >= 2 else ("none", "a result without details")


def _worth_of_words(text: str, bare: str, kind: str) -> tuple[Worth, str] | None:
    """What somebody wants, forbids or sets right."""
    if stated := _first(cues.WISH, text):
        return "wish", f"an explicit wish ({stated})"
    if text.rstrip().endswith(("?", "？")) and len(sentences(text)) == 1 and not cues.CONSTRAINT.search(text):
        return "none", "a question"
    if stated := _first(cues.PREFERENCE, text):
        return "preference", f"a preference ({stated})"
    if kind == "user_input" and (stated := _first(cues.CORRECTION, bare)):
        return "correction", f"the user corrects ({stated})"
    if (stated := _first(cues.CONSTRAINT, text)) and (kind in ("user_input", "agent_thought", "note") or details(text)):
        return "constraint", f"a condition ({stated})"
    return None


def _worth_of_finding(text: str) -> tuple[Worth, str]:
    if cues.UNSOLVED.search(text):
        return "failure", "something did not work"
    if _DECISION.search(text) and details(text):
        return "decision", "a decision with details"
    if _REUSABLE.search(text) or len(details(text)) >= 2:
        return "result", "a fact that can be used again"
    return "none", "nothing that would be needed again"


def _first(cue: re.Pattern[str], text: str) -> str:
    match = cue.search(text)
    return match[0] if match else ""


def same_again(text: str, earlier: Sequence[str], similarities: Sequence[float] | None = None) -> int | None:
    """The index of the earlier statement (newest first among equals) that ``text`` only repeats, or ``None``.

    Near-identical: the same words in another order or spelling, with every figure, name and negation the same.
    ``similarities`` are calibrated ones to each earlier statement, if the caller has them: at 0.95 or more, fewer
    shared words are enough.
    """
    said = Statement(simplified(text[:LONGEST]))
    for i in range(len(earlier) - 1, -1, -1):
        before = Statement(simplified(earlier[i][:LONGEST]))
        if squeezed(text) == squeezed(earlier[i]):
            return i
        if said.negated != before.negated or said.names != before.names or not _same_figures(said, before):
            continue
        union = said.content | before.content
        overlap = len(said.content & before.content) / len(union) if union else 0.0
        near = similarities is not None and similarities[i] >= 0.95
        if overlap >= (0.6 if near else 0.8) and said.poles == before.poles:
            return i
    return None


def _same_figures(a: Statement, b: Statement) -> bool:
    return len(a.values) == len(b.values) and all(any(relation(x, y) == "equal" for y in b.values) for x in a.values)
