"""Which memories a question to the index is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from ...schemas import TimeRange
from ...schemas.retrieve import Where
from ...schemas.words import HIDDEN, Kind, Status, Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """What stands beside something in the graph of memories; one of these is enough.

    ``ids`` are these memories themselves, ``linking`` what has a link of any kind to one of these, ``entities`` what
    names one of these, ``subjects`` facts about one of these; both compared as in `IndexFilter`.
    """

    ids: tuple[str, ...] = ()
    linking: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFilter:
    """All conditions must hold. Purged memories are outside of every filter.

    ``pools`` is who may see what, so it has no default: a memory in any of these; ``()`` is none at all, ``None``
    every pool (the bus's own work only). ``clearance``: every label of the memory must be among these;
    ``None`` does not look at labels. ``entities`` and ``tags``: all of them, compared without case, width and accents.
    ``derived_from``: a copy of, or drawn from, any of these; ``caused_by``: an effect of any of these.
    ``kinds``: any of these; ``fact_subject``: a fact about it, compared without case, articles and punctuation.
    ``speakers``: a turn of talk in the form ``Name: text`` of any of these, which are folded.
    ``valid_at``: the memory's validity has begun and neither it nor the memory has ended by then.
    ``near``: a neighbour of something. ``before``: indexed together with any of these, as the turn before.
    """

    pools: tuple[str, ...] | None
    tier: Tier | None = None
    kind: Kind | None = None
    time_range: TimeRange | None = None
    entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    task_type: str | None = None
    session_id: str | None = None
    min_confidence: float | None = None
    clearance: tuple[str, ...] | None = None
    statuses_hidden: frozenset[Status] = frozenset()
    valid_at: datetime | None = None
    ids: tuple[str, ...] | None = None
    author: str | None = None
    derived_from: tuple[str, ...] | None = None
    caused_by: tuple[str, ...] | None = None
    kinds: tuple[Kind, ...] | None = None
    fact_subject: str | None = None
    speakers: tuple[str, ...] | None = None
    near: Near | None = None
    before: tuple[str, ...] | None = None

    @classmethod
    def of(cls, where: Where, *, pools: Iterable[str], valid_at: datetime | None = None) -> Self:
        """The filters of a request, within ``pools``, which are those of ``where`` that the caller may read."""
        return cls(
            pools=tuple(pools),
            tier=where.tier,
            kind=where.kind,
            time_range=where.time_range,
            entities=where.entities,
            tags=where.tags,
            task_type=where.task_type,
            session_id=where.session_id,
            min_confidence=where.min_confidence,
            clearance=where.clearance,
            statuses_hidden=_NONE if where.include_archived else HIDDEN,
            valid_at=None if where.include_archived else valid_at,
        )


_NONE: Final[frozenset[Status]] = frozenset()
