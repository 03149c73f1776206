"""Entities: `entity`, what a pool knows of what it names."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from .memory import Memory
from .words import Label, Labels, PoolName


class Entity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one pool knows of a person, place, system or whatever else its memories name."""

    pool: PoolName
    name: Annotated[Label, Meta(description="Compared without case, width, accents and punctuation.")]
    clearance: Annotated[Labels, Meta(description="Sensitivity labels that this task is cleared for.")] = ()


class EntityMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that names it, without its data; the full text is one read of its URI away."""

    memory: Memory
    truncated: bool = False


class RelatedName(msgspec.Struct, frozen=True, kw_only=True):
    """What is named beside it, and in how many of the memories."""

    name: str
    count: int


class EntityMeaning(msgspec.Struct, frozen=True, kw_only=True):
    """One of the things that have this name. ``memories`` is how many of those that were looked at name it.

    ``facts`` is what is held to be true now, ``superseded`` what was, ``episodes`` what was told of sessions, and
    ``events`` everything else that happened: of each the newest, first. ``kind`` is what the words beside the name say
    that it is.
    """

    kind: Literal["person", "place", "organisation", "thing"] | None = None
    memories: int
    facts: tuple[EntityMemory, ...] = ()
    superseded: tuple[EntityMemory, ...] = ()
    episodes: tuple[EntityMemory, ...] = ()
    events: tuple[EntityMemory, ...] = ()
    related: tuple[RelatedName, ...] = ()


class EntityReply(msgspec.Struct, frozen=True, kw_only=True):
    """One meaning, or several where namesakes were told apart; the one that is named most comes first."""

    pool: PoolName
    name: str
    meanings: tuple[EntityMeaning, ...]
