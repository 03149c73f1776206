"""Scoring profiles: how the signals of a candidate become one score. Profiles are data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ...schemas import Invalid, Memory
from ..index import Hit

DEFAULT: Final = "hybrid"


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its score and the normalised signals (0…1) that made it."""

    memory: Memory
    score: float
    signals: dict[str, float]


@dataclass(frozen=True, slots=True)
class Profile:
    """``score = (Σ weight · signal) · Π (1 - effect · (1 - signal))``

    ``weights`` are for the signals that say whether a memory answers the query; ``effects`` (0…1) for those that
    say how far to rely on it: the share of the score that the worst memory loses. Recency is
    ``decay_per_day ** days``, from design §5; it is bounded by its effect so that a store that is years old
    keeps its order of relevance.
    """

    name: str
    weights: Mapping[str, float]
    effects: Mapping[str, float]
    decay_per_day: float

    def score(self, hit: Hit, now: datetime) -> Scored:
        """Score one candidate at ``now``."""
        memory = hit.memory
        days = max(0.0, (now - memory.occurred_at).total_seconds() / 86_400)
        signals = {
            "semantic": hit.semantic or 0.0,
            "keyword": hit.keyword,
            "recency": self.decay_per_day**days,
            "trust": memory.trust,
        }
        score = sum(weight * signals[name] for name, weight in self.weights.items())
        for name, effect in self.effects.items():
            score *= 1 - effect * (1 - signals[name])
        return Scored(memory, score, {name: round(value, 4) for name, value in signals.items()})


PROFILES: Final = {
    profile.name: profile
    for profile in (
        Profile(
            name="hybrid",
            weights={"semantic": 0.5, "keyword": 0.5},
            effects={"recency": 0.1, "trust": 0.2},
            decay_per_day=0.99,
        ),
    )
}


def profile_named(name: str | None) -> Profile:
    """The profile of that name, or the default.

    Raises:
        Invalid: there is none; the message lists those that there are.
    """
    profile = PROFILES.get(name or DEFAULT)
    if profile is None:
        raise Invalid(f"profile: there is no {name!r}; there are {', '.join(sorted(PROFILES))}", field="profile")
    return profile
