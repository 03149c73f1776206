"""From candidates to an answer: score by a profile, pack, and say why."""

from .packing import fold, pack
from .profiles import PROFILES, Profile, profile_named
from .question import Question, impersonal, time_asked
from .scoring import Scored, has_answer, reranked, score

__all__ = [
    "PROFILES", "Profile", "Question", "Scored", "fold", "has_answer", "impersonal", "pack", "profile_named",
    "reranked", "score", "time_asked",
]  # fmt: skip
