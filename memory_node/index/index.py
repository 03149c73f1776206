"""The index: the searchable view of the log. What every engine behind it must do."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...schemas import LogEntry, Memory
from .filters import IndexFilter

T = TypeVar("T")
Facet: TypeAlias = Literal["pool", "tier", "kind", "status", "session_id", "task_type", "entities", "tags", "labels"]

Pace: TypeAlias = Callable[[Sequence[str]], AsyncIterator[Sequence[str]]]

_MEMORY: Final = msgspec.json.Decoder(Memory)
_BEFORE: Final = b',"before":"'
_ID_LENGTH: Final = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexQuery:
    """What to look for. ``vector`` is the raw query vector of ``text`` (role query), or ``None`` for words alone.

    ``depth`` candidates are taken by meaning and as many by words; the best ``limit`` of them are returned. Reading a
    memory for the first time costs the engine 12 µs and more: keep the limit near what is needed.
    """

    text: str
    vector: NDArray[np.float32] | None
    filter: IndexFilter
    limit: int = 50
    depth: int = 50


class PackedWords(NamedTuple):
    """The terms of a memory as uint32 in rising order, and their weights as float32."""

    terms: bytes
    weights: bytes


class Stored:
    """One version of a memory as an index keeps it: its place in the log, and its JSON with the turn before it.

    ``dense`` is its calibrated vector, as float32, and ``words`` its terms, where they were read as well: as bytes, for
    those of many memories are joined in a third of the time that arrays take. Searches that find the same version share
    it (see `Kept`), so what is made of the memory alone is made once.
    """

    def __init__(
        self, id: str, seq: int, raw: bytes, dense: bytes | None = None, words: PackedWords | None = None
    ) -> None:
        self.id = id
        self.seq = seq
        self.raw = raw
        self.dense = dense
        self.words = words
        self._made: dict[object, Any] = {}

    @cached_property
    def memory(self) -> Memory:
        """The memory, decoded when first asked for."""
        return _MEMORY.decode(self.raw)

    @cached_property
    def before(self) -> str | None:
        """The id of the turn before it that it was indexed together with; it is the last field of what is stored."""
        tail = self.raw[-(len(_BEFORE) + _ID_LENGTH + 2) :]
        return tail[len(_BEFORE) : -2].decode() if tail.startswith(_BEFORE) else None

    def once(self, make: Callable[[Memory], T]) -> T:
        """What ``make``, a function with a name of its own, makes of the memory."""
        made = self._made
        if make not in made:
            made[make] = make(self.memory)
        kept: T = made[make]
        return kept


class Hit(msgspec.Struct, frozen=True):
    """A memory that was found, and how near it is.

    ``semantic`` is the calibrated similarity (0…1), ``cosine`` that of the calibrated vectors; both are ``None`` where
    the query or the memory has no vector. ``keyword`` is 0…1: the share of the query's weight in words that the
    memory covers, against the best that any single memory does for each word.
    """

    id: str
    semantic: float | None
    keyword: float
    cosine: float | None
    stored: Stored

    @property
    def memory(self) -> Memory:
        """The memory."""
        return self.stored.memory

    @property
    def before(self) -> str | None:
        """The id of the turn before it that it was indexed together with."""
        return self.stored.before

    def once(self, make: Callable[[Memory], T]) -> T:
        """See `Stored.once`."""
        return self.stored.once(make)


@dataclass(frozen=True, slots=True)
class Checksum:
    """What an index holds: two with the same memories in the same versions and statuses have the same one."""

    memories: int
    digest: str


def checksum_of(versions: Iterable[tuple[str, int, str]]) -> Checksum:
    """The checksum over (id, version, status), in any order: the sum of their SHA-256, modulo 2^256."""
    count = total = 0
    for id, version, status in versions:
        count += 1
        total += int.from_bytes(hashlib.sha256(f"{id} {version} {status}".encode()).digest())
    return Checksum(count, f"{total % (1 << 256):064x}")


class Index(Protocol):
    """Every method raises `Unavailable` when the engine is away. None holds the loop longer than the engine does."""

    @property
    def state(self) -> str:
        """``ok``, or ``away`` since the last call failed."""
        ...

    @property
    def created(self) -> bool:
        """Whether no node has `rebuilt` it yet, so that it may lack what the log holds."""
        ...

    async def put(self, entries: Sequence[LogEntry]) -> None:
        """Make these versions findable. ``memory.seq`` must be set; an older version never replaces a newer one.

        A purged memory leaves nothing but its id, pool and seq, so that no older version can come back.
        """
        ...

    async def search(self, query: IndexQuery) -> list[Hit]:
        """At most ``query.limit`` candidates, best first by 0.7 · semantic + 0.3 · keyword.

        Without a vector and without a single term, the newest that pass the filter.
        """
        ...

    async def find(self, filter: IndexFilter, limit: int) -> list[Memory]:
        """The newest (by ``occurred_at``) that pass the filter."""
        ...

    async def count(self, filter: IndexFilter) -> int:
        """How many pass the filter."""
        ...

    async def counts_by_tier(self, filter: IndexFilter) -> dict[str, int]:
        """How many of each tier pass the filter; tiers without any are left out."""
        ...

    async def counts_by_status(self, filter: IndexFilter) -> dict[str, int]:
        """How many of each status pass the filter; statuses without any are left out."""
        ...

    async def mean_confidence(self, filter: IndexFilter) -> float | None:
        """Mean confidence (to half a percent) of those that pass the filter; ``None`` if none does."""
        ...

    async def facet(self, field: Facet, filter: IndexFilter, limit: int) -> list[tuple[str, int]]:
        """The most frequent values of a field and how many memories have them."""
        ...

    async def seqs(self, ids: Sequence[str]) -> dict[str, int]:
        """The log sequence of the version that is findable, for those ids that are known (purged ones too)."""
        ...

    async def purged(self, ids: Sequence[str]) -> set[str]:
        """Those of ``ids`` that are known to be purged."""
        ...

    async def vectors(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The calibrated unit vectors of those ids that have one, ``(dimensions,)`` each."""
        ...

    def forget(self, ids: Iterable[str]) -> None:
        """Let go of what this node keeps in memory of these, which are purged: nothing finds them any more."""
        ...

    async def without_vector(self, limit: int) -> list[str]:
        """Ids of memories that were indexed without a vector of this index's model."""
        ...

    async def checksum(self) -> Checksum:
        """Of everything but purged memories."""
        ...

    async def rebuilt(self, source: AsyncIterator[Sequence[LogEntry]]) -> int:
        """Build the index anew from ``source``, the whole log, oldest first; answers how many entries that were.

        The old one serves until the new one has caught up, then the new one takes its place in one step, and the old
        one is removed with everything that it had stored, bytes of purged memories included. So: first have every
        `put` (of every node) go to both, then begin to read ``source``, then swap, then drop the old one. What `put`
        has returned from by then, or returns from later, is in the new one.

        One rebuild at a time; others wait for their turn. If it fails or is cancelled, the old index goes on serving
        and nothing of the new one is left.
        """
        ...

    async def renewed(self, pace: Pace) -> int:
        """Copy what is findable into a new index, which then takes the place of this one; answers how many that were.

        As `rebuilt`, with the same promises, but without the log: nothing is decoded or analysed again. For an index
        that holds the whole log (not ``created``) and is to let go of what was overwritten in it. ``pace`` hands on the
        ids that it is given in pieces, each when its turn has come.
        """
        ...

    async def close(self) -> None:
        """Finish what is under way and let go of the engine."""
        ...
