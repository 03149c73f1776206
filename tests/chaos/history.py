"""What happened in a run: every request with its outcome, every read, every notice, and what was there in the end.

Times are seconds of one monotonic clock. ``mark`` names what a request writes: it stands in the memory's ``data``, so
that each version tells which request it came from. A repeated request (same idempotency key) keeps its mark.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal, TypeAlias

import msgspec

Door: TypeAlias = Literal["nats", "mcp"]
Outcome: TypeAlias = Literal["acknowledged", "refused", "unknown"]


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to write. ``refused`` means that nothing may have been written, ``unknown`` that no answer came.

    ``id`` is the memory's: of an update from the beginning, of a store once it is acknowledged. ``seq`` is ``None``
    where the answer promised only that the write is safe, not that it can be found yet.
    """

    agent: str
    worker: str
    door: Door
    what: Literal["store", "ingest", "update"]
    mark: str
    began: float
    ended: float
    outcome: Outcome
    code: str = ""
    keyed: bool = False
    id: str | None = None
    version: int | None = None
    seq: int | None = None


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """One answered read of one memory. ``version`` is ``None`` where the memory was not there.

    ``told``: the version that a notice had named just before, where the read followed one.
    """

    agent: str
    worker: str
    how: Literal["get", "retrieve"]
    id: str
    began: float
    ended: float
    version: int | None
    whole: bool = True
    told: int | None = None


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A notice as a subscriber got it. ``spell`` counts its connections: a live one is in order within its spell.

    ``live``: heard as it was published; else it was asked for with a cursor.
    """

    subscriber: str
    spell: int
    live: bool
    at: float
    id: str
    version: int
    seq: int


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """A version in the log at the end of the run, in the order of the log.

    ``again`` is where it stands once more, with the embedding that it lacked at first; an answer may name any of these.
    """

    id: str
    version: int
    seq: int
    mark: str
    count: int
    whole: bool
    again: tuple[int, ...] = ()


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that retrieval found at the end of the run; once for each time that it was found."""

    id: str
    version: int
    whole: bool


class History(msgspec.Struct, kw_only=True):
    """Everything. ``complete`` are the subscribers that followed a cursor to the end.

    ``refusals``: of reads and subscribers, how often each error code came.
    """

    writes: list[Write] = []
    refusals: dict[str, int] = {}
    reads: list[Read] = []
    told: list[Told] = []
    complete: list[str] = []
    versions: list[Version] = []
    found: list[Found] = []


def written(mark: str, count: int, content: str) -> dict[str, Any]:
    """The ``data`` of a memory that `is_whole` recognises."""
    return {"mark": mark, "count": count, "digest": _digest(mark, count, content)}


def is_whole(content: str, data: Any) -> bool:
    """Whether content and data belong together."""
    if not isinstance(data, dict) or not {"mark", "count", "digest"} <= data.keys():
        return False
    return bool(data["digest"] == _digest(data["mark"], data["count"], content))


def _digest(mark: str, count: int, content: str) -> str:
    return hashlib.sha256(f"{mark}\n{count}\n{content}".encode()).hexdigest()
