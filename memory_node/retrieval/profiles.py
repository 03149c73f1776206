"""Scoring profiles: how the signals of a candidate become one score. Profiles are data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ...schemas import Invalid
from ...schemas.words import Kind

DEFAULT: Final = "evidence"

_NONE: Final[Mapping[str, float]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """``own = (Σ weight · signal) · Π (1 - effect · (1 - signal))``; the score is that, and what supports it.

    ``weights`` are for the signals that say whether a memory answers the query; ``effects`` (0…1) for those that
    say how far to rely on it: the share of the score that the worst memory loses. Recency is
    ``decay_per_day ** days``, from design §5; it is bounded by its effect so that a store that is years old
    keeps its order of relevance. ``support`` weighs what stands around a memory: ``neighbours`` (the turns before and
    after), ``session`` (the best of the same session), ``links`` (what caused it and what it caused).
    ``other_language`` is the share of its meaning that stands for the words of a memory in another language than
    the query's. With ``newest_first``, of two memories that say the same of the same thing the newer comes first.
    ``telling`` (0…1) is the share of all this that a turn of talk loses which tells nothing (see `telling`): a question
    supports its answer and is none.
    To a question for several things, the effects ``several`` stand for those of the same name, and what comes after
    the first five is taken from many sessions: a memory keeps ``again`` of its score for each from its session that is
    already there.
    """

    name: str
    weights: Mapping[str, float]
    effects: Mapping[str, float] = field(default_factory=dict)
    decay_per_day: float = 0.99
    support: Mapping[str, float] = field(default_factory=dict)
    other_language: float = 0.0
    newest_first: bool = False
    telling: float = 0.0
    several: Mapping[str, float] = field(default_factory=dict)
    again: float = 1.0
    kinds: Mapping[Kind, float] = field(default_factory=dict)


PROFILES: Final = {
    profile.name: profile
    for profile in (
        Profile(
            name="evidence",
            weights={"semantic": 0.52, "keyword": 0.48},
            effects={
                "time": 0.3,
                "speaker": 0.2,
                "present": 0.2,
                "form": 0.2,
                "recency": 0.02,
                "trust": 0.2,
                "confidence": 0.1,
                "standing": 0.15,
                "usefulness": 0.3,
            },
            support={"neighbours": 0.1, "session": 0.5, "links": 0.3},
            other_language=0.35,
            newest_first=True,
            telling=0.6,
            several={"speaker": 0.5},
            again=0.85,
        ),
        Profile(
            name="hybrid",
            weights={"semantic": 0.5, "keyword": 0.5},
            effects={"recency": 0.1, "trust": 0.2},
        ),
        Profile(
            name="hindsight",
            weights={"semantic": 0.3, "causal": 0.35, "recency": 0.2, "kind": 0.15},
            decay_per_day=0.5**24,
            kinds={"tool_result": 0.9, "agent_thought": 0.7, "user_input": 0.6, "final_answer": 0.3},
        ),
    )
}
"""``evidence`` is what evaluation found best, ``hybrid`` and ``hindsight`` are design §5's."""


def profile_named(name: str | None) -> Profile:
    """The profile of that name, or the default.

    Raises:
        Invalid: there is none; the message lists those that there are.
    """
    profile = PROFILES.get(name or DEFAULT)
    if profile is None:
        raise Invalid(f"profile: there is no {name!r}; there are {', '.join(sorted(PROFILES))}", field="profile")
    return profile
