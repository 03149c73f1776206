"""From candidates to an answer: score by a profile, pack, and say why."""

from .packing import pack
from .profiles import PROFILES, Profile, Scored, profile_named

__all__ = ["PROFILES", "Profile", "Scored", "pack", "profile_named"]
