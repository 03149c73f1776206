"""A log entry as a point: what every engine of Qdrant's family keeps of it. Times are seconds since 1970 as floats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...schemas import Internal, LogEntry
from ...schemas.words import HIDDEN
from ._conditions import LIMITED_IN, SHOWN_IN
from .analysis import SparseWeights, bare, folded
from .calibration import Calibration
from .recipe import document, raw_vector, speaker

SCHEMA: Final = 9
"""Of points and terms. It stands in the index's name: another one is another index, filled from the log."""

DENSE: Final = "dense"
WORDS: Final = "words"
MEMORY: Final = "memory"

LINKED: Final = ("derived_from", "caused_by")
"""Relations that are followed alone against their direction, so targets are indexed; ``linked`` are those of all."""

FieldKind = Literal["tenant", "keyword", "float", "integer"]

FIELDS: Final[dict[str, FieldKind]] = {
    "pool": "tenant",
    **dict.fromkeys(("tier", "kind", "status", "session_id", "task_type", "author", "speaker"), "keyword"),
    **dict.fromkeys(("entities", "entity_keys", "tags", "tag_keys", "labels", "fact_subject"), "keyword"),
    **dict.fromkeys(("before", "linked", *LINKED, SHOWN_IN, LIMITED_IN), "keyword"),
    **dict.fromkeys(("occurred_at", "expires_at", "valid_from", "valid_to", "confidence"), "float"),
    "confidence_percent": "integer",
}
"""Payload fields that are filtered, ordered or counted by. Entities and tags stand as given (for facets) and folded."""

_TIMES: Final = ("expires_at", "valid_from", "valid_to")
_ENCODER: Final = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class PointData:
    """One point: ``dense`` is calibrated, ``words`` the BM25 weights of its terms."""

    id: str
    seq: int
    dense: list[float] | None
    words: SparseWeights | None
    payload: dict[str, Any]


def latest(entries: Iterable[LogEntry]) -> dict[str, LogEntry]:
    """Of each memory its newest version among ``entries``."""
    newest: dict[str, LogEntry] = {}
    for entry in entries:
        kept = newest.get(entry.memory.id)
        if kept is None or seq_of(entry) > seq_of(kept):
            newest[entry.memory.id] = entry
    return newest


def seq_of(entry: LogEntry) -> int:
    """Where ``entry`` stands in the log."""
    if entry.memory.seq is None:
        raise Internal("only entries that stand in the log (with their seq) can be indexed")
    return entry.memory.seq


def points(entries: Sequence[LogEntry], calibration: Calibration) -> list[PointData]:
    """The points of ``entries``, in order."""
    vectors = _vectors(entries, calibration)
    return [point(entry, vector) for entry, vector in zip(entries, vectors, strict=True)]


def point(entry: LogEntry, vector: list[float] | None) -> PointData:
    """The point of an entry; a purged memory's keeps nothing of it."""
    memory = entry.memory
    seq = seq_of(entry)
    if memory.status == "purged":
        return PointData(memory.id, seq, None, None, {"pool": memory.pool, "status": "purged", "seq": seq})
    words = document(entry)
    return PointData(memory.id, seq, vector, words or None, _payload(entry, seq))


def _vectors(entries: Sequence[LogEntry], calibration: Calibration) -> list[list[float] | None]:
    """Calibrated vectors, in one go; ``None`` where there is none of this model."""
    vectors: list[list[float] | None] = [None] * len(entries)
    usable: dict[int, NDArray[np.float32]] = {}
    for i, entry in enumerate(entries):
        if entry.embedding is not None and entry.embedding.model == calibration.model:
            raw = raw_vector(entry.embedding)
            if raw.shape == (calibration.dimensions,) and np.isfinite(raw).all():
                usable[i] = raw
    if usable:
        texts = [entries[i].memory.content for i in usable]
        calibrated = calibration.apply(np.stack(list(usable.values())), texts, "passage").tolist()
        for i, vector in zip(usable, calibrated, strict=True):
            vectors[i] = vector
    return vectors


def _payload(entry: LogEntry, seq: int) -> dict[str, Any]:
    memory = entry.memory
    payload: dict[str, Any] = {
        "pool": memory.pool,
        "tier": memory.tier,
        "kind": memory.kind,
        "author": memory.author,
        "status": memory.status,
        "occurred_at": memory.occurred_at.timestamp(),
        "confidence": memory.confidence,
        "confidence_percent": round(memory.confidence * 100),
        "seq": seq,
        MEMORY: _stored(entry),
    }
    name = speaker(memory)
    named = {"session_id": memory.session_id, "task_type": memory.task_type, "speaker": name and folded(name)}
    payload |= {field: value for field, value in named.items() if value is not None}
    times = {field: time.timestamp() for field in _TIMES if (time := getattr(memory, field)) is not None}
    payload |= times
    if memory.status not in HIDDEN:
        payload[LIMITED_IN if times or memory.labels else SHOWN_IN] = memory.pool
    many: dict[str, Sequence[str]] = {
        "entities": memory.entities,
        "entity_keys": [folded(entity) for entity in memory.entities],
        "tags": memory.tags,
        "tag_keys": [folded(tag) for tag in memory.tags],
        "labels": memory.labels,
        "linked": [link.target for link in memory.links],
        **{rel: [link.target for link in memory.links if link.rel == rel] for rel in LINKED},
    }
    # A list of one is to the engine what that one is alone, which the embedded one's binding reads in half the time.
    payload |= {field: values[0] if len(values) == 1 else list(values) for field, values in many.items() if values}
    if entry.before is not None:  # a purge finds by it what was made with its memory
        payload["before"] = entry.before.id
    if memory.fact is not None:
        payload["fact_subject"] = bare(memory.fact.subject)
    return payload


def _stored(entry: LogEntry) -> str:
    """The memory as JSON, with the id of the turn before it as one more field (see `Hit`)."""
    memory = _ENCODER.encode(entry.memory).decode()
    return memory if entry.before is None else f'{memory[:-1]},"before":"{entry.before.id}"}}'
