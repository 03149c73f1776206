"""The index on Qdrant Edge: the Qdrant engine in this process, one directory, one owner.

The engine's optimizer is never run here: qdrant-edge-py 0.9.0 holds the GIL in every call, and optimizing (6 s at 10 k
vectors, half a minute at 100 k) would stop the whole node. Searches within pools go through the pool's payload index
and do without a vector graph; a search over all pools scans them. To go when the binding releases the GIL.
"""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar
from uuid import UUID

import msgspec
import numpy as np
from numpy.typing import NDArray
from qdrant_edge import CountRequest, EdgeShard, FacetRequest, Point, ScrollRequest, UpdateOperation

from ...schemas import LogEntry, Memory, Unavailable
from ._conditions import PURGED, AnyOf, Conditions, HasVector, conditions
from ._edge import edge_filter, edge_point, newest, search
from ._kept import Kept
from ._points import DENSE, MEMORY, SCHEMA, latest, points, seq_of
from ._shards import Shards
from .analysis import folded
from .calibration import Calibration, file_stem
from .filters import IndexFilter
from .index import Checksum, Facet, Hit, IndexQuery, Pace, checksum_of
from .recipe import speaker

log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

_READERS: Final = 2
_AT_ONCE: Final = 16
"""Points per engine call: the binding (0.9.0) holds the GIL in every call, for 0.05 ms a point. A call itself costs
nothing that could be measured."""
_SHORT: Final = 4
"""So few are written or found at once, in the event loop: a thread would not free the loop from a call that holds the
GIL, and getting there and back takes as long as writing one point (0.4 ms on an idle machine, 2 ms on a busy one)."""
_PAGE: Final = 1000
_MEMORY: Final = msgspec.json.Decoder(Memory)
_AN_INDEX: Final = re.compile(r".+-\d+-v\d+")


class EdgeIndex:
    """See `Index`. Engine calls run in its own threads, one that writes and two that read.

    Searches, and what is short, are made in the event loop: the engine holds the GIL, so a thread would not free the
    loop of them. It would only be waited for: with 16 callers half as long again, twice as long at the 99th percentile.

    ::

        async with await EdgeIndex.open(data_dir / "index", calibration) as index:
            await index.put(entries)
    """

    def __init__(self, path: Path, shards: Shards, calibration: Calibration) -> None:
        self._path = path
        self._shards = shards
        self._calibration = calibration
        self._kept = Kept()
        self._rebuilding = asyncio.Lock()
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
        return cls(path, await asyncio.to_thread(Shards.open, path, calibration.dimensions), calibration)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def created(self) -> bool:
        """Whether it was made anew and never was `rebuilt`, so that it may lack what the log holds."""
        return not self._shards.complete

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
            await self._write(self._put, entries)

    async def search(self, query: IndexQuery) -> list[Hit]:
        """See `Index.search`."""
        return self._at_once(search, self._kept, self._calibration, query)

    async def find(self, filter: IndexFilter, limit: int) -> list[Memory]:
        """See `Index.find`."""
        if limit <= _SHORT:
            return self._at_once(_find, self._kept, filter, limit)
        return await self._read(_find, self._kept, filter, limit)

    async def count(self, filter: IndexFilter) -> int:
        """See `Index.count`."""
        return int(await self._read(EdgeShard.count, CountRequest(exact=True, filter=edge_filter(conditions(filter)))))

    async def counts_by_tier(self, filter: IndexFilter) -> dict[str, int]:
        """See `Index.counts_by_tier`."""
        return dict(await self.facet("tier", filter, 100))

    async def counts_by_status(self, filter: IndexFilter) -> dict[str, int]:
        """See `Index.counts_by_status`."""
        return dict(await self.facet("status", filter, 100))

    async def mean_confidence(self, filter: IndexFilter) -> float | None:
        """See `Index.mean_confidence`."""
        counts = await self._read(_facet, "confidence_percent", filter, 101)
        total = sum(count for _, count in counts)
        return sum(int(percent) * count for percent, count in counts) / (100 * total) if total else None

    async def facet(self, field: Facet, filter: IndexFilter, limit: int) -> list[tuple[str, int]]:
        """See `Index.facet`."""
        return await self._read(_facet, field, filter, limit)

    async def seqs(self, ids: Sequence[str]) -> dict[str, int]:
        """See `Index.seqs`."""
        return await self._read(_seqs, ids)

    async def purged(self, ids: Sequence[str]) -> set[str]:
        """See `Index.purged`."""
        if len(ids) <= _SHORT:
            return self._at_once(_purged, ids)
        return await self._read(_purged, ids)

    async def vectors(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """See `Index.vectors`."""
        return await self._read(_vectors, ids)

    def forget(self, ids: Iterable[str]) -> None:
        """See `Index.forget`."""
        self._kept.forget(UUID(id).int for id in ids)

    async def without_vector(self, limit: int) -> list[str]:
        """See `Index.without_vector`."""
        return await self._read(_without_vector, limit)

    async def checksum(self) -> Checksum:
        """See `Index.checksum`."""
        return await self._read(_checksum)

    async def rebuilt(self, source: AsyncIterator[Sequence[LogEntry]]) -> int:
        """See `Index.rebuilt`. Indexes of other models and layouts in the directory, which are out of date, go too."""
        count = 0
        async with self._replacing():
            async for entries in source:
                await self._write(self._put_next, entries)
                count += len(entries)
        return count

    async def renewed(self, pace: Pace) -> int:
        """See `Index.renewed`."""
        count = 0
        async with self._replacing():
            after: Any = None
            while True:
                ids, after = await self._read(_page_of_ids, after)
                async for piece in pace(ids):
                    for start in range(0, len(piece), _AT_ONCE):
                        await self._write(self._copy_next, piece[start : start + _AT_ONCE])
                count += len(ids)
                if after is None:
                    return count

    async def close(self) -> None:
        """See `Index.close`."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._close)

    @asynccontextmanager
    async def _replacing(self) -> AsyncIterator[None]:
        """Within, the next shard gets what is written, and may be filled; then it takes the place of this one."""
        async with self._rebuilding:
            await self._write(self._shards.begin)
            try:
                yield
                await self._write(self._swap)
            except BaseException:
                if not self._closed:
                    await self._write(self._shards.abandon)
                raise
            await asyncio.to_thread(self._remove_others)

    def _at_once(self, call: Callable[Concatenate[EdgeShard, P], T], *args: P.args, **_: P.kwargs) -> T:
        with self._noted():
            found: T = _translated(self._on_serving, call, *args)
            return found

    async def _read(self, call: Callable[Concatenate[EdgeShard, P], T], *args: P.args, **_: P.kwargs) -> T:
        return await self._run(self._readers, self._on_serving, call, *args)

    async def _write(self, call: Callable[..., T], *args: Any) -> T:
        return await self._run(self._writer, self._in_turn, call, *args)

    async def _run(self, threads: ThreadPoolExecutor, call: Callable[..., T], *args: Any) -> T:
        with self._noted():
            return await asyncio.get_running_loop().run_in_executor(threads, _translated, call, *args)

    def _on_serving(self, call: Callable[..., T], *args: Any) -> T:
        with self._shards.reading() as shard:
            return call(shard, *args)

    def _in_turn(self, call: Callable[..., T], *args: Any) -> T:
        with self._writing:
            return call(*args)

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
        self._shards.close()

    def _remove_others(self) -> None:
        for other in self._path.parent.iterdir():
            if other.is_dir() and other != self._path and _AN_INDEX.fullmatch(other.name):
                log.info("removing %s, an index that is not kept up to date", other.name)
                shutil.rmtree(other)

    def _put(self, entries: Sequence[LogEntry]) -> None:
        serving, *being_built = self._shards.written
        for shard in being_built:
            # Older ones come from the log, if they are there still: one that was purged must not get into this one.
            present = _seqs(serving, [entry.memory.id for entry in entries])
            self._put_into(shard, [entry for entry in entries if seq_of(entry) >= present.get(entry.memory.id, -1)])
        memories = [entry.memory for entry in entries]
        pools = {memory.pool for memory in memories}
        speakers = {folded(name) for memory in memories if (name := speaker(memory))}
        with self._kept.changing([UUID(memory.id).int for memory in memories], pools, speakers):
            self._put_into(serving, entries)

    def _swap(self) -> None:
        with self._kept.changing(None):
            self._shards.swap()

    def _put_next(self, entries: Sequence[LogEntry]) -> None:
        self._put_into(self._shards.next, entries)

    def _copy_next(self, ids: Sequence[str]) -> None:
        serving, following = self._shards.written
        # One writes at a time, so nothing is older than what it would replace: what was put meanwhile went to both.
        records: list[Any] = serving.retrieve(list(ids), True, True)
        copies = [Point(record.id, record.vector or {}, record.payload) for record in records]
        following.update(UpdateOperation.upsert_points(copies))

    def _put_into(self, shard: EdgeShard, entries: Sequence[LogEntry]) -> None:
        if not entries:
            return
        newest_of = latest(entries)
        # One writes at a time, so what is read here still holds when it is written below.
        present = _seqs(shard, list(newest_of))
        fresh = [entry for id, entry in newest_of.items() if seq_of(entry) > present.get(id, -1)]
        made = [edge_point(point) for point in points(fresh, self._calibration)] if fresh else []
        for start in range(0, len(made), _AT_ONCE):
            shard.update(UpdateOperation.upsert_points(made[start : start + _AT_ONCE]))


def _seqs(shard: EdgeShard, ids: Sequence[str]) -> dict[str, int]:
    records = shard.retrieve(list(ids), ["seq"], False)
    return {str(record.id): (record.payload or {})["seq"] for record in records}


def _page_of_ids(shard: EdgeShard, after: Any) -> tuple[list[str], Any]:
    records, following = shard.scroll(ScrollRequest(offset=after, limit=_PAGE, with_payload=False, with_vector=False))
    return [str(record.id) for record in records], following


def _purged(shard: EdgeShard, ids: Sequence[str]) -> set[str]:
    records = shard.retrieve(list(ids), ["status"], False)
    return {str(record.id) for record in records if (record.payload or {})["status"] == "purged"}


def _find(shard: EdgeShard, kept: Kept, filter: IndexFilter, limit: int) -> list[Memory]:
    # Most names that a query may hold speak nowhere. That is known from the field's own index, in a tenth of the time.
    if filter.speakers is not None and not kept.anybody(filter.speakers, partial(_speak, shard, filter.speakers)):
        return []
    records, _ = shard.scroll(newest(conditions(filter), limit, [MEMORY]))
    return [_MEMORY.decode((record.payload or {})[MEMORY]) for record in records]


def _speak(shard: EdgeShard, names: tuple[str, ...]) -> bool:
    said = edge_filter(Conditions(must=(AnyOf("speaker", names),)))
    return shard.count(CountRequest(exact=False, filter=said)) > 0


def _facet(shard: EdgeShard, field: str, filter: IndexFilter, limit: int) -> list[tuple[str, int]]:
    request = FacetRequest(field, limit=limit, exact=True, filter=edge_filter(conditions(filter)))
    return [(str(hit.value), hit.count) for hit in shard.facet(request).hits]


def _vectors(shard: EdgeShard, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    records: list[Any] = shard.retrieve(list(ids), False, [DENSE])
    return {str(r.id): np.asarray(r.vector[DENSE], dtype=np.float32) for r in records if r.vector and DENSE in r.vector}


def _without_vector(shard: EdgeShard, limit: int) -> list[str]:
    wanted = Conditions(must_not=(HasVector(DENSE), PURGED))
    request = ScrollRequest(limit=limit, filter=edge_filter(wanted), with_payload=False, with_vector=False)
    records, _ = shard.scroll(request)
    return [str(record.id) for record in records]


def _checksum(shard: EdgeShard) -> Checksum:
    versions: list[tuple[str, int, str]] = []
    offset: Any = None
    everything = edge_filter(conditions(IndexFilter(pools=None)))
    while True:
        request = ScrollRequest(offset=offset, limit=_PAGE, filter=everything, with_payload=[MEMORY], with_vector=False)
        records, offset = shard.scroll(request)
        memories = (_MEMORY.decode((record.payload or {})[MEMORY]) for record in records)
        versions += ((memory.id, memory.version, memory.status) for memory in memories)
        if offset is None:
            return checksum_of(versions)


def _translated(call: Callable[..., T], *args: Any) -> T:
    try:
        return call(*args)
    except Exception as e:
        # The engine's own errors are bare Exceptions; everything else is a fault of ours and stays what it is.
        if type(e) is not Exception:
            raise
        raise Unavailable(f"the index failed: {e}") from e
