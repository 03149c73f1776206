"""`trace`: from an event back along its causes, or forward to what came of it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from .errors import Invalid
from .memory import Memory
from .words import MemoryId, SessionId, Unit

Direction = Literal["causes", "effects"]
Trigger = Literal["explicit", "low_confidence", "tool_error", "tool_result_empty"]

MAX_RECALL_EVENTS = 100
"""The most that one trace brings back."""


class Signals(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the caller's last step went; from this the bus decides whether looking back is worth it."""

    mean_logprob: (
        Annotated[float, Meta(le=0, description="Mean log-probability of the tokens of its answer.")] | None
    ) = None
    tool_error: bool = False
    tool_result_empty: bool = False


class Trace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Follow causes back ("why did this happen?") or effects forward ("what came of it?"), to the end of the chain.

    Start from a memory (`id`) or from the latest event of a session (`session_id`). With `signals` the trace is made
    only if they say that something went wrong.
    """

    id: MemoryId | None = None
    session_id: SessionId | None = None
    direction: Direction = "causes"
    max_depth: Annotated[int, Meta(ge=1, le=100, description="Steps from the start.")] = 50
    top_k: Annotated[int, Meta(ge=1, le=MAX_RECALL_EVENTS, description="The most events to bring back.")] = 10
    signals: Signals | None = None

    def __post_init__(self) -> None:
        if (self.id is None) == (self.session_id is None):
            raise Invalid("give either id or session_id", field="id")


class TracedItem(msgspec.Struct, frozen=True, kw_only=True):
    """One event of the chain.

    ``depth`` is the number of steps from the start by the longest way, so a cause is always deeper than its effects;
    ``weight`` the product of the links' weights along the strongest way; ``via`` the event from which that way comes.
    """

    memory: Memory
    depth: int
    weight: Unit
    via: MemoryId


class TraceReply(msgspec.Struct, frozen=True, kw_only=True):
    """``items`` in the order of the path, nearest first. Not ``triggered``: the signals gave no reason to look back.

    The data of ``without_data`` is over 4 KiB, and one read of its URI away.
    """

    items: tuple[TracedItem, ...]
    triggered: bool
    trigger: Trigger | None = None
    without_data: tuple[MemoryId, ...] = ()
