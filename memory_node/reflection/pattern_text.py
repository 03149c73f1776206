"""A pattern in a sentence, in the language of its episodes, quoting the most central one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...schemas import Memory
from .sentences import language_of, shortened

_DAYS: Final = {
    "en": ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays"),
    "zh": ("周一", "周二", "周三", "周四", "周五", "周六", "周日"),
}
_PARTS: Final = {
    "en": {
        "morning": "in the morning",
        "afternoon": "in the afternoon",
        "evening": "in the evening",
        "night": "at night",
    },
    "zh": {"morning": "上午", "afternoon": "下午", "evening": "晚上", "night": "深夜"},
}
_TEXT: Final = {
    "en": {
        "recurring": "{about}: it keeps going wrong ({n} times{against}). For example: {quote}",
        "condition": "{about}: it goes wrong {when} ({n} times{against}). For example: {quote}",
        "threshold": "{about}: it goes wrong from {when} on ({n} times{against}). For example: {quote}",
        "reversal": "{about}: it has changed; since {since}: {quote}",
        "choice": "{about}: the same again and again ({n} times{against}). For example: {quote}",
        "with": "with “{word}”", "without": "without “{word}”", "against": ", {n} against", "when": "when “{word}”",
    },
    "zh": {
        "recurring": "{about}：反复出问题（{n} 次{against}）。例如：{quote}",
        "condition": "{about}：{when}会出问题（{n} 次{against}）。例如：{quote}",
        "threshold": "{about}：达到 {when} 以上会出问题（{n} 次{against}）。例如：{quote}",
        "reversal": "{about}：情况变了；{since} 以来：{quote}",
        "choice": "{about}：一再如此（{n} 次{against}）。例如：{quote}",
        "with": "有“{word}”时", "without": "没有“{word}”时", "against": "，{n} 次相反", "when": "“{word}”时",
    },
}  # fmt: skip


def statement_of(
    form: str, about: Sequence[str], condition: str, core: Sequence[Memory], central: Memory, against: int
) -> str:
    """The sentence. ``core`` are the episodes that show it, ``central`` is quoted."""
    tongue = language_of([episode.content for episode in core])
    text = _TEXT[tongue]
    names = ("、" if tongue == "zh" else ", ").join(about) or ("这里" if tongue == "zh" else "here")
    return text[form].format(
        about=names,
        n=len(core),
        against=text["against"].format(n=against) if against and form != "reversal" else "",
        when=_when(condition, tongue),
        since=min(episode.occurred_at for episode in core).date().isoformat(),
        quote=shortened(central.content, 240),
    )


def _when(condition: str, tongue: str) -> str:
    text = _TEXT[tongue]
    denied, word = condition.startswith("¬"), condition.lstrip("¬")
    if word.startswith("day:"):
        told = _DAYS[tongue][int(word[4:])]
        return told if tongue == "zh" else f"on {told}"
    if word.startswith("part:"):
        told = _PARTS[tongue][word[5:]]
        return (f"不在{told}时" if tongue == "zh" else f"not {told}") if denied else told
    if ">=" in word:
        measure, limit = word.split(">=")
        return f"{limit} {measure.removeprefix('n:')}"
    return text["without" if denied else "with"].format(word=word.removeprefix("@"))
