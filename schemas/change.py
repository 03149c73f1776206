"""Requests that change memories: `update`, `link`, `share`, `forget`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from ._checks import check_sizes, check_times
from .errors import Invalid
from .memory import Fact, Memory
from .retrieve import Where
from .store import Conflict, GuardFinding
from .words import Ids, Json, Kind, Label, Labels, MemoryId, PoolName, Rel, Text, Tier, Time, Unit, Version


class Update(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Make a new version of a memory. Fields that are left out stay as they are.

    ``expected_version`` is the version you read: if somebody else was faster, the answer is `stale` with the
    current one. ``restore_version`` takes all fields from an earlier version instead.
    """

    id: MemoryId
    expected_version: Version
    restore_version: Version | None = None
    content: Text | None = None
    data: Annotated[Json | UnsetType, Meta(description="Any JSON; null empties it.")] = UNSET
    tier: Tier | None = None
    kind: Kind | None = None
    entities: Labels | None = None
    tags: Labels | None = None
    labels: Labels | None = None
    task_type: Label | None = None
    fact: Fact | None = None
    importance: Unit | None = None
    confidence: Unit | None = None
    occurred_at: Time | None = None
    valid_from: Time | None = None
    valid_to: Time | None = None
    expires_at: Time | None = None
    pinned: bool | None = None
    status: Annotated[
        Literal["active", "archived"] | None, Meta(description="active brings an archived memory back.")
    ] = None

    def __post_init__(self) -> None:
        check_sizes(self.content, None if self.data is UNSET else self.data)
        check_times(
            occurred_at=self.occurred_at,
            valid_from=self.valid_from,
            valid_to=self.valid_to,
            expires_at=self.expires_at,
        )
        changes = self.changes
        if self.restore_version is not None and changes:
            raise Invalid(
                f"restore_version takes no other change; remove {', '.join(changes)}", field="restore_version"
            )
        if self.restore_version is None and not changes:
            raise Invalid("nothing to change: name at least one field, or restore_version", field="")

    @property
    def changes(self) -> dict[str, object]:
        """The fields to change, by name."""
        skip = {"id", "expected_version", "restore_version"}
        values = {name: getattr(self, name) for name in self.__struct_fields__ if name not in skip}
        return {k: v for k, v in values.items() if v is not UNSET and (v is not None or k == "data")}


class UpdateReply(msgspec.Struct, frozen=True, kw_only=True):
    """The new version."""

    memory: Memory
    conflicts: tuple[Conflict, ...] = ()
    guard: tuple[GuardFinding, ...] = ()


class LinkRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Draw an edge from `source` to `target`. The edge is kept with the source."""

    source: MemoryId
    target: MemoryId
    rel: Rel
    weight: Annotated[Unit | None, Meta(description="Left out: 1.0, or the design's weight for these kinds.")] = None


class LinkEnd(msgspec.Struct, frozen=True, kw_only=True):
    """A memory and its version now."""

    id: MemoryId
    version: Version


class LinkReply(msgspec.Struct, frozen=True, kw_only=True):
    """Both ends of the edge."""

    source: LinkEnd
    target: LinkEnd


class Share(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Copy a memory into another pool. The copy is linked to the original and keeps its provenance."""

    id: MemoryId
    pool: PoolName


class ShareReply(msgspec.Struct, frozen=True, kw_only=True):
    """The copy."""

    memory: Memory


class Forget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Archive memories: hidden from retrieval, kept for audit, brought back by `update` with status active.

    ``purge`` erases them instead, for good.
    """

    ids: Ids = ()
    where: Where | None = None
    reason: Annotated[Text, Meta(max_length=1000, description="Why; it stands in the history.")]
    purge: bool = False
    cascade: Annotated[bool, Meta(description="Forget what was copied or derived from them as well.")] = False

    def __post_init__(self) -> None:
        if bool(self.ids) == (self.where is not None):
            raise Invalid("give either ids or where", field="ids")
        if self.where is not None and self.where.names_nothing:
            raise Invalid(
                "where: names nothing, and would forget everything that you may write; give a filter, such as pools",
                field="where",
            )


class ForgetReply(msgspec.Struct, frozen=True, kw_only=True):
    """``ids`` were forgotten; ``remaining`` are copies and derived memories that the caller sees and that stayed."""

    count: int
    ids: tuple[MemoryId, ...]
    remaining: tuple[MemoryId, ...] = ()
