"""Looking back: `reflect`, `end_session`, and the operations that a reflector may ask for."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from .errors import Invalid
from .memory import Fact, Memory
from .words import Label, Labels, MemoryId, PoolName, Rel, SessionId, Text, Unit

Outcome = Literal["success", "failure", "partial", "unknown"]
JobState = Literal["queued", "running", "done", "failed", "cancelled", "dead"]
FINISHED: frozenset[JobState] = frozenset({"done", "cancelled", "dead"})
"""What a job does not leave any more; one that has failed is tried again."""

_Evidence = Annotated[
    tuple[MemoryId, ...], Meta(min_length=1, max_length=256, description="Ids of the memories that show it.")
]
_Because = Annotated[Text, Meta(max_length=1000, description="Why, in one sentence.")]


class StoreOperation(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="op", tag="store"
):
    """Keep something new that the evidence shows."""

    content: Text
    kind: Literal["fact", "preference", "lesson", "procedure", "summary", "episode"]
    evidence: _Evidence
    contradicting: Annotated[tuple[MemoryId, ...], Meta(max_length=256)] = ()
    because: _Because
    entities: Labels = ()
    tags: Labels = ()
    fact: Fact | None = None
    importance: Unit = 0.5
    key: Annotated[Label | None, Meta(description="Names what it is about: one memory for each key.")] = None


class UpdateOperation(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="op", tag="update"
):
    """Correct, strengthen, weaken or promote what is known. What is left out stays; evidence is added."""

    id: MemoryId
    content: Text | None = None
    status: Literal["active", "candidate", "superseded"] | None = None
    evidence: _Evidence
    contradicting: Annotated[tuple[MemoryId, ...], Meta(max_length=256)] = ()
    because: _Because


class ForgetOperation(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="op", tag="forget"
):
    """Archive what does not hold or says nothing new."""

    id: MemoryId
    evidence: _Evidence
    because: _Because


class LinkOperation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="op", tag="link"):
    """Connect two memories."""

    source: MemoryId
    target: MemoryId
    rel: Rel
    weight: Unit = 1.0
    evidence: _Evidence
    because: _Because


ReflectOperation: TypeAlias = StoreOperation | UpdateOperation | ForgetOperation | LinkOperation


class OperationResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one operation: ``id`` is the memory that it made or changed.

    ``planned`` is what a dry run would do; ``skipped`` is what had changed since it was read, or is so already;
    ``refused`` broke a rule, which ``reason`` names.
    """

    operation: ReflectOperation
    result: Literal["planned", "applied", "skipped", "refused"]
    reason: str | None = None
    id: MemoryId | None = None


class Reflect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Look back on a session or a pool: tell episodes, draw knowledge from them, settle conflicts, tidy up.

    It is done by a job; ``job_id`` alone asks how one stands.
    """

    session_id: SessionId | None = None
    pool: Annotated[PoolName | None, Meta(description="Left out: the session's, or your private pool.")] = None
    focus: Annotated[Text, Meta(max_length=500, description="An entity or topic to look at.")] | None = None
    wait: Annotated[bool, Meta(description="Answer when the job is done (25 s at most).")] = False
    dry_run: Annotated[bool, Meta(description="Only say what would be done.")] = False
    end_session: Annotated[bool, Meta(description="End the session first: its events are told as an episode.")] = False
    outcome: Annotated[Outcome | None, Meta(description="With end_session: how it ended, if you know.")] = None
    user_feedback: (
        Annotated[Text, Meta(max_length=4000, description="With end_session: what the user said.")] | None
    ) = None
    job_id: Annotated[MemoryId | None, Meta(description="A job of yours, instead of a new one.")] = None
    cancel: Annotated[bool, Meta(description="Stop that job.")] = False

    def __post_init__(self) -> None:
        if self.end_session and self.session_id is None:
            raise Invalid("session_id: which session is to be ended?", field="session_id")
        if self.cancel and self.job_id is None:
            raise Invalid("job_id: which job is to be cancelled?", field="job_id")
        if self.job_id is not None and (self.session_id or self.pool or self.focus):
            raise Invalid(
                "job_id: it stands for the job as it was asked for; leave the other fields out", field="job_id"
            )
        if not self.end_session and (self.outcome or self.user_feedback):
            raise Invalid("end_session: outcome and user_feedback go with it", field="end_session")


class ReflectReply(msgspec.Struct, frozen=True, kw_only=True):
    """How the job stands, and what became of its operations once it is done. ``episode`` is the session's, if ended.

    ``job_id`` is null where a session was ended and looking back on it is switched off.
    """

    job_id: MemoryId | None = None
    state: JobState
    operations: tuple[OperationResult, ...] = ()
    episode: Memory | None = None
    reason: str | None = None


class EndSession(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """End one of the caller's sessions: its events are told as one episode, and a job looks back on it.

    It may go on afterwards, and be ended again: the episode gets a new version.
    """

    session_id: SessionId
    outcome: Outcome | None = None
    user_feedback: Annotated[Text, Meta(max_length=4000)] | None = None


class EndSessionReply(msgspec.Struct, frozen=True, kw_only=True):
    """``job_id`` is null where looking back on a session's end is switched off."""

    episode: Memory
    job_id: MemoryId | None = None
