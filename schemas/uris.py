"""memory:// URIs: the names of what MCP clients read and watch.

====================================  =============================================
``memory://pools``                    the pools that the reader may see
``memory://<kind>/<name>``            a pool
``memory://<kind>/<name>/<id>``       a memory
``…/<id>/history``                    its versions
``memory://agent/<id>/session/<s>``   a session's window
====================================  =============================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .errors import Invalid
from .words import MEANING_OF_PATTERN, AgentName, MemoryId, PoolName, SessionId

POOLS: Final = "memory://pools"
_SCHEME: Final = "memory://"


@dataclass(frozen=True, slots=True)
class PoolsUri:
    """``memory://pools``"""


@dataclass(frozen=True, slots=True)
class PoolUri:
    """A pool."""

    pool: str


@dataclass(frozen=True, slots=True)
class MemoryRef:
    """A memory, or its history."""

    pool: str
    id: str
    history: bool = False


@dataclass(frozen=True, slots=True)
class SessionUri:
    """The window of one of an agent's sessions."""

    agent: str
    session_id: str


def pool_uri(pool: str) -> str:
    """The URI of a pool."""
    return f"{_SCHEME}{pool}"


def memory_uri(pool: str, id: str) -> str:
    """The URI of a memory."""
    return f"{_SCHEME}{pool}/{id}"


def history_uri(pool: str, id: str) -> str:
    """The URI of a memory's history."""
    return f"{_SCHEME}{pool}/{id}/history"


def session_uri(agent: str, session_id: str) -> str:
    """The URI of a session's window."""
    return f"{_SCHEME}agent/{agent}/session/{session_id}"


def parse_uri(uri: str) -> PoolsUri | PoolUri | MemoryRef | SessionUri:
    """What ``uri`` names.

    Raises:
        Invalid: it is not one of the forms above.
    """
    if uri == POOLS:
        return PoolsUri()
    match uri.removeprefix(_SCHEME).split("/") if uri.startswith(_SCHEME) else []:
        case ["agent", agent, "session", session] if _is(AgentName, agent) and _is(SessionId, session):
            return SessionUri(agent, session)
        case [kind, name] if _is(PoolName, f"{kind}/{name}"):
            return PoolUri(f"{kind}/{name}")
        case [kind, name, id] if _is(PoolName, f"{kind}/{name}") and _is(MemoryId, id):
            return MemoryRef(f"{kind}/{name}", id)
        case [kind, name, id, "history"] if _is(PoolName, f"{kind}/{name}") and _is(MemoryId, id):
            return MemoryRef(f"{kind}/{name}", id, history=True)
    raise Invalid(f"{uri!r} is not a memory:// URI of a pool, memory, history or session", field="uri")


def _is(type: object, value: str) -> bool:
    return re.search(_pattern(type), value) is not None


def _pattern(type: object) -> str:
    pattern: str = type.__metadata__[0].pattern  # type: ignore[attr-defined]  # Annotated's typing is not public
    assert pattern in MEANING_OF_PATTERN
    return pattern
