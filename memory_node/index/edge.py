"""The index on Qdrant Edge: the Qdrant engine in this process, one directory, one owner.

The engine's optimizer is never run here: qdrant-edge-py 0.9.0 holds the GIL in every call, and optimizing (6 s at 10 k
vectors, half a minute at 100 k) would stop the whole node. Searches within pools go through the pool's payload index
and do without a vector graph; a search over all pools scans them. To go when the binding releases the GIL.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import msgspec
from qdrant_edge import (
    CountRequest,
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    FacetRequest,
    Modifier,
    Point,
    ScrollRequest,
    UpdateOperation,
)

from afterwit.schemas import LogEntry, Memory, Unavailable

from ._conditions import PURGED, Conditions, HasVector, conditions
from ._edge import INDEXES, edge_filter, edge_point, newest, search
from ._points import DENSE, MEMORY, SCHEMA, WORDS, latest, points, seq_of
from .calibration import Calibration, file_stem
from .filters import IndexFilter
from .index import Facet, Hit, IndexQuery

log = logging.getLogger(__name__)
T = TypeVar("T")

_READERS: Final = 2
_AT_ONCE: Final = 64
"""Points per engine call: the binding (0.9.0) holds the GIL in every call, and 64 points take it for about 6 ms."""
_SHORT: Final = 4
"""So few are written at once, in the event loop: a thread would not free the loop from a call that holds the GIL, and
getting there and back takes as long again as writing one point (0.4 ms on an idle machine, 2 ms on a busy one)."""
_MEMORY: Final = msgspec.json.Decoder(Memory)


class EdgeIndex:
    """See `Index`. Engine calls run in its own threads, one that writes and two that read, but for short writes.

    ::

        async with await EdgeIndex.open(data_dir / "index", calibration) as index:
            await index.put(entries)
    """

    def __init__(self, shard: EdgeShard, calibration: Calibration, *, created: bool) -> None:
        self._shard = shard
        self._calibration = calibration
        self._created = created
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="index-writer")
        self._readers = ThreadPoolExecutor(max_workers=_READERS, thread_name_prefix="index-reader")
        self._writing = Lock()
        self._closed = False
        self._state = "ok"

    @classmethod
    async def open(cls, directory: Path, calibration: Calibration) -> Self:
        """The index of ``calibration``'s model under ``directory``, made if it is not there.

        Raises:
            Unavailable: another process has it open, or it cannot be read.
        """
        path = directory / f"{file_stem(calibration.model)}-{calibration.dimensions}-v{SCHEMA}"
        shard, created = await asyncio.to_thread(_open, path, calibration.dimensions)
        return cls(shard, calibration, created=created)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def created(self) -> bool:
        """Whether it was made anew, and so is to be filled from the beginning of the log."""
        return self._created

    @property
    def calibration(self) -> Calibration:
        """What makes vectors of this index comparable."""
        return self._calibration

    @property
    def state(self) -> str:
        """See `Index.state`."""
        return self._state

    async def put(self, entries: Sequence[LogEntry]) -> None:
        """See `Index.put`."""
        if len(entries) <= _SHORT and self._writing.acquire(blocking=False):
            try:
                with self._noted():
                    _translated(self._put, entries)
            finally:
                self._writing.release()
        else:
            await self._run(self._writer, self._put_in_turn, entries)

    async def search(self, query: IndexQuery) -> list[Hit]:
        """See `Index.search`."""
        return await self._run(self._readers, search, self._shard, self._calibration, query)

    async def find(self, filter: IndexFilter, limit: int) -> list[Memory]:
        """See `Index.find`."""
        return await self._run(self._readers, self._find, filter, limit)

    async def count(self, filter: IndexFilter) -> int:
        """See `Index.count`."""
        request = CountRequest(exact=True, filter=edge_filter(conditions(filter)))
        return int(await self._run(self._readers, self._shard.count, request))

    async def counts_by_tier(self, filter: IndexFilter) -> dict[str, int]:
        """See `Index.counts_by_tier`."""
        return dict(await self.facet("tier", filter, 100))

    async def counts_by_status(self, filter: IndexFilter) -> dict[str, int]:
        """See `Index.counts_by_status`."""
        return dict(await self.facet("status", filter, 100))

    async def mean_confidence(self, filter: IndexFilter) -> float | None:
        """See `Index.mean_confidence`."""
        counts = await self._run(self._readers, self._facet, "confidence_percent", filter, 101)
        total = sum(count for _, count in counts)
        return sum(int(percent) * count for percent, count in counts) / (100 * total) if total else None

    async def facet(self, field: Facet, filter: IndexFilter, limit: int) -> list[tuple[str, int]]:
        """See `Index.facet`."""
        return await self._run(self._readers, self._facet, field, filter, limit)

    async def seqs(self, ids: Sequence[str]) -> dict[str, int]:
        """See `Index.seqs`."""
        return await self._run(self._readers, self._seqs, ids)

    async def without_vector(self, limit: int) -> list[str]:
        """See `Index.without_vector`."""
        return await self._run(self._readers, self._without_vector, limit)

    async def close(self) -> None:
        """See `Index.close`."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._close)

    async def _run(self, threads: ThreadPoolExecutor, call: Callable[..., T], *args: Any) -> T:
        with self._noted():
            return await asyncio.get_running_loop().run_in_executor(threads, _translated, call, *args)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Whether the engine did its work is the index's state."""
        if self._closed:
            raise Unavailable("the index is closed")
        try:
            yield
        except Unavailable:
            self._state = "away"
            raise
        self._state = "ok"

    def _close(self) -> None:
        self._writer.shutdown()
        self._readers.shutdown()
        self._shard.close()

    def _put_in_turn(self, entries: Sequence[LogEntry]) -> None:
        with self._writing:
            self._put(entries)

    def _put(self, entries: Sequence[LogEntry]) -> None:
        versions = latest(entries)
        # One writes at a time, so what is read here still holds when it is written below.
        present = self._seqs(list(versions))
        fresh = [entry for id, entry in versions.items() if seq_of(entry) > present.get(id, -1)]
        if fresh:
            for some in _batched([edge_point(point) for point in points(fresh, self._calibration)], _AT_ONCE):
                self._shard.update(UpdateOperation.upsert_points(some))

    def _seqs(self, ids: Sequence[str]) -> dict[str, int]:
        records = self._shard.retrieve(list(ids), ["seq"], False)
        return {str(record.id): (record.payload or {})["seq"] for record in records}

    def _find(self, filter: IndexFilter, limit: int) -> list[Memory]:
        records, _ = self._shard.scroll(newest(conditions(filter), limit, [MEMORY]))
        return [_MEMORY.decode((record.payload or {})[MEMORY]) for record in records]

    def _facet(self, field: str, filter: IndexFilter, limit: int) -> list[tuple[str, int]]:
        request = FacetRequest(field, limit=limit, exact=True, filter=edge_filter(conditions(filter)))
        return [(str(hit.value), hit.count) for hit in self._shard.facet(request).hits]

    def _without_vector(self, limit: int) -> list[str]:
        without = edge_filter(Conditions(must_not=(HasVector(DENSE), PURGED)))
        request = ScrollRequest(limit=limit, filter=without, with_payload=False, with_vector=False)
        records, _ = self._shard.scroll(request)
        return [str(record.id) for record in records]


def _open(path: Path, dimensions: int) -> tuple[EdgeShard, bool]:
    try:
        if path.exists() and any(path.iterdir()):
            return EdgeShard.load(str(path)), False
        path.mkdir(parents=True, exist_ok=True)
        config = EdgeConfig(
            vectors={DENSE: EdgeVectorParams(size=dimensions, distance=Distance.Dot)},
            sparse_vectors={WORDS: EdgeSparseVectorParams(modifier=Modifier.Idf)},
        )
        shard = EdgeShard.create(str(path), config)
        for field, index in INDEXES.items():
            shard.update(UpdateOperation.create_field_index(field, index))
        return shard, True
    except Exception as e:  # the engine raises bare Exceptions
        if "WouldBlock" in str(e):
            raise Unavailable(f"the index at {path} is in use: an embedded index has one owner") from e
        raise Unavailable(f"the index at {path} cannot be opened: {e}") from e


def _translated(call: Callable[..., T], *args: Any) -> T:
    try:
        return call(*args)
    except Exception as e:
        # The engine's own errors are bare Exceptions; everything else is a fault of ours and stays what it is.
        if type(e) is not Exception:
            raise
        raise Unavailable(f"the index failed: {e}") from e


def _batched(points: list[Point], size: int) -> Iterator[list[Point]]:
    """``points`` in lists of at most ``size``."""
    return (points[i : i + size] for i in range(0, len(points), size))
