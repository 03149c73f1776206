"""What can be the condition in "it goes wrong when …": words with their negation, names, parts of the day, figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ...schemas import Memory
from ..index import terms
from ..index.analysis import folded
from . import cues
from .sentences import clauses
from .statements import Statement

Result: TypeAlias = Literal["good", "bad", "neutral"]

_RESULTS: Final[dict[str, Result]] = {"success": "good", "failure": "bad", "partial": "bad"}
_OUTCOME_WORDS: Final = re.compile(
    r"^(?:fail\w*|succe\w+|pass\w*|green|red|ok|fine|good|bad|well|wrong|right|again|still|late|delay\w*|"
    r"on|time|error\w*|broke\w*|problem\w*|issu\w*|"
    r"happi|angri|smooth\w*|normal|complet\w*|finish\w*|down|up|quiet|today|day|week|month|first|second|"
    r"third|time|one|got|took|went|came|had|"
    r"minut\w*|hour\w*|user|servic\w*|system|custom\w*|失败|成功|正常|顺利|又|再|问题|故障|出错|错误|没事|"
    r"通过|完成|结束|还是|这次|一次|分钟|小时|今天|昨天|"
    r"已经|合格|不合格|上午|下午|晚上|早上|次|第二|第三|没|不|了|时|个|位|家)$"
)
_PART_OF_DAY: Final = ((5, 11.99, "morning"), (12, 17.99, "afternoon"), (18, 23.99, "evening"), (0, 4.99, "night"))
_DAYPARTS: Final = {0: "morning", 1: "afternoon", 2: "evening"}
_NUMBERED: Final = re.compile(r"(\d[\d,]*(?:\.\d+)?)[\s-]?([a-z]{3,}|[\u4e00-\u9fff]{1,2})")


@dataclass(frozen=True, slots=True)
class Observation:
    """One episode as seen: how it ended, what holds in it (features), and its figures by what they measure."""

    id: str
    result: Result
    features: frozenset[str]
    figures: tuple[tuple[str, float], ...]
    names: frozenset[str]
    changes: bool


def observe(episodes: Sequence[Memory]) -> list[Observation]:
    """Each episode's features: ``word`` holds in it, ``¬word`` is denied; ``@name``, ``day:…``, ``part:…``."""
    return [_observation(episode) for episode in episodes]


def result_of(episode: Memory) -> Result:
    """Good, bad or neither: by the outcome in its data."""
    told: Any = episode.data.get("outcome") if isinstance(episode.data, dict) else None
    return _RESULTS.get(told, "neutral") if isinstance(told, str) else "neutral"


def opposite_of(feature: str) -> str:
    """The feature that says the contrary."""
    return feature[1:] if feature.startswith("¬") else f"¬{feature}"


def is_word(feature: str) -> bool:
    """Whether it is a word, denied or not, and no name or time."""
    return not feature.startswith(("@", "day:", "part:"))


def _observation(episode: Memory) -> Observation:
    statement = Statement(episode.content)
    names = frozenset(folded(name) for name in episode.entities)
    own = frozenset(term for name in episode.entities for term in terms(name))
    found: set[str] = {f"@{name}" for name in names}
    for clause in clauses(episode.content):
        denied = cues.negated(clause)
        for term in _words(clause):
            word, turned = _positive(term)
            if word not in own or denied or turned:
                found.add(f"¬{word}" if denied != turned else word)
            elif word in own:
                found.add(word)
    figures = []
    for value in statement.values:
        if value.day is not None and value.day.weekday is not None:
            found.add(f"day:{value.day.weekday}")
        elif value.dimension == "clock":
            hour = value.low / 3600
            found.update(f"part:{name}" for low, high, name in _PART_OF_DAY if low <= hour <= high)
        elif value.dimension in ("bytes", "mass", "length") or value.dimension.startswith("money"):
            figures.append((value.dimension, value.high if value.low == float("-inf") else value.low))
    found.update(f"part:{_DAYPARTS[pole]}" for pole in statement.aspects.get("daypart", ()) if pole in _DAYPARTS)
    if re.search(r"\bearly\b|早班|清早", episode.content):
        found.add("part:morning")
    if re.search(r"晚高峰", episode.content):
        found.add("part:evening")
    figures += _counted(episode.content)
    return Observation(episode.id, result_of(episode), frozenset(found), tuple(figures), names, statement.changes)


def _words(clause: str) -> set[str]:
    bare = list(clause)
    for value in Statement(clause).values:
        bare[value.start : value.end] = " " * (value.end - value.start)
    return {
        term
        for term in terms("".join(bare))
        if not _OUTCOME_WORDS.match(term) and not term.isdigit() and (len(term) > 1 or not "\u4e00" <= term <= "\u9fff")
    }


def _positive(term: str) -> tuple[str, bool]:
    """``unbatch`` and ``non-refundable`` deny what they are made of."""
    for prefix in ("non-", "non", "un"):
        if term.startswith(prefix) and len(term) - len(prefix) >= 4 and not term.startswith(("under", "unit", "until")):
            return term[len(prefix) :], True
    return term, False


def _counted(text: str) -> list[tuple[str, float]]:
    found = []
    for figure, noun in _NUMBERED.findall(folded(text)):
        stem = (terms(noun) or [noun])[0]
        if not re.match(
            r"^(?:minut|hour|day|week|month|year|second|eur|usd|percent|min|utc|am|pm|分|秒|小时|天|周|月|"
            r"年|日|号|点|元|欧|次|起)",
            stem,
        ):
            found.append((f"n:{stem}", float(figure.replace(",", ""))))
    return found
