"""Retrieval: `retrieve`, and `feedback` on what it brought."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from ._checks import check_times
from .errors import Invalid
from .memory import Memory
from .words import Budget, Kind, Label, Labels, MemoryId, PoolName, Seq, SessionId, Text, Tier, Time, Unit


class TimeRange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From ``start`` (included) to ``end`` (excluded); either may be open. On ``occurred_at``."""

    start: Time | None = None
    end: Time | None = None

    def __post_init__(self) -> None:
        check_times(**{"time_range.start": self.start, "time_range.end": self.end})

    @property
    def reversed(self) -> bool:
        """Whether it ends before it starts."""
        return self.start is not None and self.end is not None and self.end < self.start


class Where(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The filters of `retrieve`, standing alone; all that are given must hold."""

    pools: Annotated[tuple[PoolName, ...], Meta(max_length=256, description="All that you may read, if empty.")] = ()
    tier: Tier | None = None
    kind: Kind | None = None
    time_range: TimeRange | None = None
    entities: Annotated[Labels, Meta(description="All of these must be named.")] = ()
    tags: Annotated[Labels, Meta(description="All of these must be set.")] = ()
    task_type: Label | None = None
    session_id: SessionId | None = None
    min_confidence: Unit | None = None
    clearance: Annotated[Labels, Meta(description="Sensitivity labels that this task is cleared for.")] = ()
    include_archived: bool = False

    def __post_init__(self) -> None:
        if self.time_range is not None and self.time_range.reversed:
            raise Invalid(
                "time_range: its end lies before its start; give the earlier time as start", field="time_range"
            )

    @property
    def names_nothing(self) -> bool:
        """Whether it lets through everything: what only widens it aside, no filter is given."""
        widening = {"clearance", "include_archived"}
        given = (getattr(self, name) for name in self.__struct_fields__ if name not in widening)
        return all(value in (None, (), TimeRange()) for value in given)


class Retrieve(Where, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Find the memories that answer `query`, by meaning and by words, in English and Chinese."""

    query: Annotated[Text, Meta(description="What you want to know, in plain words.")]
    top_k: Annotated[int, Meta(ge=1, le=50)] = 5
    profile: Annotated[Label | None, Meta(description="How to score; left out: evidence. Also: hybrid, hindsight.")] = (
        None
    )
    rerank: Annotated[bool | None, Meta(description="Use the cross-encoder; left out: if there is one.")] = None
    hops: Annotated[
        int, Meta(ge=0, le=2, description="From the best hits, follow links and shared names so many steps further.")
    ] = 0
    max_tokens: Annotated[Budget | None, Meta(description="Budget for all items together.")] = None
    max_content_length: Annotated[
        int, Meta(ge=1, le=65_536, description="Characters per item; the full text is one read of its URI away.")
    ] = 500
    after_seq: Annotated[Seq | None, Meta(description="Wait until this log entry can be found.")] = None
    now: Annotated[Time | None, Meta(description="What 'last week' in the query is relative to.")] = None
    time_zone: Annotated[Label | None, Meta(description="IANA name, for 'yesterday' and the like.")] = None
    only_then: Annotated[
        bool,
        Meta(description="A time in the query ('last week', 上个月) is a filter on occurred_at, no preference."),
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_times(now=self.now)


class RetrievedItem(msgspec.Struct, frozen=True, kw_only=True):
    """A memory and why it is here. ``signals`` are the normalised (0…1) parts of ``score``.

    ``folded`` are ids of further memories that say the same in nearly the same words, for which this one stands.
    """

    memory: Memory
    score: float
    signals: dict[str, float]
    why: str
    truncated: bool = False
    folded: tuple[MemoryId, ...] = ()


class RetrieveReply(msgspec.Struct, frozen=True, kw_only=True):
    """``items`` best first. ``degraded`` names the parts that were away while it was made.

    ``hints`` are a word about each pool of the items that does badly (of those that do well there is none), and one if
    `only_then` was asked for and the query names no time, so that nothing was filtered by it.
    """

    items: tuple[RetrievedItem, ...]
    retrieval_id: str
    no_answer: bool
    degraded: tuple[str, ...] = ()
    total_candidates: int
    hints: tuple[str, ...] = ()


class UsedItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one retrieved memory turned out."""

    id: MemoryId
    effect: Literal["helped", "misled", "ignored"]
    note: Annotated[Text, Meta(max_length=2000)] | None = None


class Feedback(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Say what a retrieval was worth: it teaches the ranking."""

    retrieval_id: Annotated[str, Meta(min_length=1, max_length=64, description="From the reply of the retrieval.")]
    used: Annotated[tuple[UsedItem, ...], Meta(min_length=1, max_length=50)]


class FeedbackReply(msgspec.Struct, frozen=True, kw_only=True):
    """How many items were recorded."""

    recorded: int


class Explain(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Say how one of your retrievals came to its answer."""

    retrieval_id: Annotated[str, Meta(min_length=1, max_length=64, description="From the reply of the retrieval.")]


class ExplainedItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One item of that answer, and what was said of it since."""

    id: MemoryId
    score: float
    signals: dict[str, float]
    why: str
    feedback: UsedItem | None = None


class ExplainReply(msgspec.Struct, frozen=True, kw_only=True):
    """``items`` best first. ``stages`` says where the time went, in milliseconds, of ``took_ms`` in all."""

    retrieval_id: str
    profile: str
    at: Time
    items: tuple[ExplainedItem, ...]
    no_answer: bool
    candidates: int
    took_ms: float
    stages: dict[str, float]
    degraded: tuple[str, ...] = ()
