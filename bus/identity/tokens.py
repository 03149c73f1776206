"""Tokens: ``aw.<agent>.<64 hex>``, the last part being 256 random bits.

The agent's name stands in the token so that one look at its record decides; it proves nothing by itself.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Final

_BYTES: Final = 32
_TOKEN: Final = re.compile(r"aw\.(?P<agent>[a-z0-9][a-z0-9_-]{0,62})\.[0-9a-f]{64}")


def new_token(agent: str) -> str:
    """A token for ``agent`` that nobody has seen."""
    return f"aw.{agent}.{secrets.token_hex(_BYTES)}"


def agent_of(token: str) -> str | None:
    """Who ``token`` says it is of; None if it has not the form of a token."""
    match = _TOKEN.fullmatch(token)
    return match["agent"] if match else None


def digest(token: str) -> str:
    """SHA-256 of the whole token, in hex: what is kept of it."""
    return hashlib.sha256(token.encode()).hexdigest()
