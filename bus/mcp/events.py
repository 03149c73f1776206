"""Which resources a notice touches, and which notices a resource needs. No I/O."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Final

from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from ...schemas import Memory, Notice
from ...schemas.uris import (
    POOLS,
    EntityUri,
    MemoryRef,
    PoolUri,
    SessionUri,
    history_uri,
    parse_uri,
    pool_uri,
    session_uri,
)

Event = ResourceUpdated | ResourcesListChanged

_LIST_CHANGES: Final = frozenset({"created", "archived", "restored", "purged"})


def events_of(notice: Notice) -> Iterator[Event]:
    """What to tell those who watch, the memory itself first. Its session is not known from the notice."""
    yield ResourceUpdated(uri=notice.uri)
    yield ResourceUpdated(uri=history_uri(notice.pool, notice.id))
    yield ResourceUpdated(uri=pool_uri(notice.pool))
    yield ResourceUpdated(uri=POOLS)
    if notice.change in _LIST_CHANGES:
        yield ResourcesListChanged()


def pool_of(uri: str) -> str | None:
    """The pool whose notices tell of changes to ``uri``; ``None`` where any pool's may.

    A session's memories may lie in any pool that its agent may write.
    """
    match parse_uri(uri):
        case PoolUri(pool) | MemoryRef(pool) | EntityUri(pool):
            return pool
    return None


def session_owner(uri: str) -> str | None:
    """The agent whose session ``uri`` names; ``None`` if it names something else."""
    match parse_uri(uri):
        case SessionUri(agent):
            return agent
    return None


def entity_named(uri: str) -> str | None:
    """The name of the entity whose page ``uri`` is; ``None`` if it is something else."""
    match parse_uri(uri):
        case EntityUri(_, name):
            return name
    return None


def names(memory: Memory, entity: str) -> bool:
    """Whether ``memory`` may name ``entity``, beside its text or in it."""
    forms = [memory.content, *memory.entities]
    if memory.fact is not None:
        forms += [memory.fact.subject, memory.fact.object]
    return any(_plain(entity) in _plain(form) for form in forms)


def _plain(text: str) -> str:
    """Without case, width, accents, spaces and punctuation: two forms of one name must not differ here."""
    return "".join(c for c in unicodedata.normalize("NFKD", text).casefold() if c.isalnum())


def session_of(memory: Memory, agent: str) -> str | None:
    """The URI of ``agent``'s session that ``memory`` belongs to."""
    if memory.session_id is None or agent not in (memory.author, memory.on_behalf_of):
        return None
    return session_uri(agent, memory.session_id)
