"""The floor of the index: a copy of the data in an engine of this process, asked with nothing in between."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray
from qdrant_edge import (
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    FieldCondition,
    Filter,
    FloatIndexParams,
    Fusion,
    IdfParams,
    KeywordIndexParams,
    MatchAny,
    MatchExcept,
    Modifier,
    Point,
    Prefetch,
    Query,
    QueryRequest,
    RangeFloat,
    SearchParams,
    SparseVector,
    UpdateOperation,
)

from afterwit.memory_node.index import sparse_document, sparse_query
from afterwit.schemas import Memory
from afterwit.schemas.words import HIDDEN

from .stub import StubEmbedder

CANDIDATES: Final = 50
TOP_K: Final = 5

_AT_ONCE: Final = 64
_KEYWORDS: Final = ("pool", "status", "labels", "tier", "kind", "entities", "tags", "session_id", "author")
_TIMES: Final = ("occurred_at", "valid_from", "valid_to", "expires_at")


class EngineFloor:
    """Points with the same vectors, words and fields as the node's, behind indexes of the same kinds."""

    def __init__(self, directory: Path) -> None:
        self._embedder = StubEmbedder()
        directory.mkdir()
        config = EdgeConfig(
            vectors={"dense": EdgeVectorParams(size=self._embedder.dimensions, distance=Distance.Dot)},
            sparse_vectors={"words": EdgeSparseVectorParams(modifier=Modifier.Idf)},
        )
        self._shard = EdgeShard.create(str(directory), config)
        for field in _KEYWORDS:
            self._shard.update(UpdateOperation.create_field_index(field, KeywordIndexParams(is_tenant=field == "pool")))
        for field in _TIMES:
            self._shard.update(UpdateOperation.create_field_index(field, FloatIndexParams()))

    def add(self, memories: Sequence[Memory]) -> float:
        """Add their points; the seconds that the engine took."""
        took = 0.0
        for start in range(0, len(memories), _AT_ONCE):
            operation = UpdateOperation.upsert_points([self._point(m) for m in memories[start : start + _AT_ONCE]])
            begun = time.perf_counter()
            self._shard.update(operation)
            took += time.perf_counter() - begun
        return took

    def load(self, memories: Sequence[Memory]) -> float:
        """Add their points; the seconds that it takes a program which has vectors, words and fields at hand.

        That is what `add` counts and what the engine's Python binding takes to read them: twice as much again.
        """
        ready = [self._values(memory) for memory in memories]
        begun = time.perf_counter()
        for start in range(0, len(ready), _AT_ONCE):
            points = [Point(*values) for values in ready[start : start + _AT_ONCE]]
            self._shard.update(UpdateOperation.upsert_points(points))
        return time.perf_counter() - begun

    def query(self, text: str, pools: Sequence[str]) -> float:
        """Seconds of the hybrid query: the best by meaning and the best by words, fused, five memories read."""
        request = hybrid(text, self._embedder.embed([text], "query")[0], pools, limit=TOP_K)
        begun = time.perf_counter()
        found = self._shard.query(request)
        took = time.perf_counter() - begun
        assert len(found) == TOP_K
        return took

    def upsert(self, memory: Memory) -> float:
        """Seconds of writing one point."""
        operation = UpdateOperation.upsert_points([self._point(memory)])
        begun = time.perf_counter()
        self._shard.update(operation)
        return time.perf_counter() - begun

    def close(self) -> None:
        """Let go of the directory."""
        self._shard.close()

    def _point(self, memory: Memory) -> Point:
        return Point(*self._values(memory))

    def _values(self, memory: Memory) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """The point's id, vectors and fields."""
        words = sparse_document(memory.content)
        vectors: dict[str, Any] = {
            "dense": self._embedder.embed([memory.content], "passage")[0].tolist(),
            "words": SparseVector(words.indices, words.values),
        }
        fields = msgspec.to_builtins(memory, builtin_types=(datetime,))
        times = {field: time.timestamp() for field in _TIMES if (time := fields[field]) is not None}
        payload = {field: fields[field] for field in _KEYWORDS if fields[field]} | times
        return memory.id, vectors, payload | {"memory": msgspec.json.encode(memory).decode()}


def hybrid(text: str, vector: NDArray[np.float32], pools: Sequence[str], *, limit: int) -> QueryRequest:
    """The best by meaning and the best by words, fused, ``limit`` memories read."""
    words = sparse_query(text)
    sparse = SparseVector(words.indices, words.values)
    visible, readable = _filters(pools)
    idf = SearchParams(idf=IdfParams(corpus=readable))
    return QueryRequest(
        limit=limit,
        query=Fusion.Rrf(k=60),  # type: ignore[arg-type]  # a Fusion, but the stubs do not say so
        prefetches=[
            Prefetch(limit=CANDIDATES, query=Query.Nearest(vector.tolist(), using="dense"), filter=visible),
            Prefetch(limit=CANDIDATES, query=Query.Nearest(sparse, using="words"), filter=visible, params=idf),
        ],
        with_payload=["memory"],
        with_vector=False,
    )


def _filters(pools: Sequence[str]) -> tuple[Filter, Filter]:
    """What the node's own retrieval asks for without further filters: what may be seen; and where words are counted."""
    readable = FieldCondition("pool", match=MatchAny(list(pools)))
    now = datetime.now(UTC).timestamp()
    hidden: list[Any] = [
        FieldCondition("status", match=MatchAny([str(status) for status in HIDDEN])),
        FieldCondition("labels", match=MatchExcept([])),
        FieldCondition("valid_to", range=RangeFloat(lte=now)),
        FieldCondition("expires_at", range=RangeFloat(lte=now)),
        FieldCondition("valid_from", range=RangeFloat(gt=now)),
    ]
    return Filter(must=[readable], must_not=hidden), Filter(must=[readable])
