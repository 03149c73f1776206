"""memory:// URIs: the names of what MCP clients read and watch.

====================================  =============================================
``memory://pools``                    the pools that the reader may see
``memory://<kind>/<name>``            a pool
``memory://<kind>/<name>/<id>``       a memory
``…/<id>/history``                    its versions; ``…/history?cursor=<cursor>`` is a further page of them
``memory://agent/<id>/session/<s>``   a session's window
``memory://<kind>/<name>/entity/<e>`` what a pool knows of an entity (its name in UTF-8, percent-encoded)
====================================  =============================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from msgspec import ValidationError, convert

from .errors import Invalid
from .words import MEANING_OF_PATTERN, AgentName, Label, MemoryId, PoolName, SessionId

POOLS: Final = "memory://pools"
_SCHEME: Final = "memory://"
_PAGE: Final = re.compile(r"history\?cursor=([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class PoolsUri:
    """``memory://pools``"""


@dataclass(frozen=True, slots=True)
class PoolUri:
    """A pool."""

    pool: str


@dataclass(frozen=True, slots=True)
class MemoryRef:
    """A memory, or its history; with ``cursor``, a further page of it."""

    pool: str
    id: str
    history: bool = False
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class SessionUri:
    """The window of one of an agent's sessions."""

    agent: str
    session_id: str


@dataclass(frozen=True, slots=True)
class EntityUri:
    """What a pool knows of an entity."""

    pool: str
    name: str


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


def entity_uri(pool: str, name: str) -> str:
    """The URI of what a pool knows of an entity."""
    return f"{_SCHEME}{pool}/entity/{quote(name, safe='')}"


def parse_uri(uri: str) -> PoolsUri | PoolUri | MemoryRef | SessionUri | EntityUri:
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
        case [kind, name, id, page] if (
            _is(PoolName, f"{kind}/{name}") and _is(MemoryId, id) and (on := _PAGE.fullmatch(page))
        ):
            return MemoryRef(f"{kind}/{name}", id, history=True, cursor=on[1])
        case [kind, name, "entity", entity] if _is(PoolName, f"{kind}/{name}") and (named := _name(entity)):
            return EntityUri(f"{kind}/{name}", named)
    raise Invalid(f"{uri!r} is not a memory:// URI of a pool, memory, history, session or entity", field="uri")


def _name(quoted: str) -> str | None:
    """A name that may stand for an entity; ``None`` if it is none, or not in UTF-8."""
    try:
        return convert(unquote(quoted, errors="strict"), Label)
    except (UnicodeDecodeError, ValidationError):
        return None


def _is(type: object, value: str) -> bool:
    return re.search(_pattern(type), value) is not None


def _pattern(type: object) -> str:
    pattern: str = type.__metadata__[0].pattern  # type: ignore[attr-defined]  # Annotated's typing is not public
    assert pattern in MEANING_OF_PATTERN
    return pattern
