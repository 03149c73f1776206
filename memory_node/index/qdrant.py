"""The index on a Qdrant server, which several nodes share. Needs the extra ``server``.

Every write is conditional on the log's sequence, in the server: whichever order writes of several nodes arrive in, the
newest version stays. A conditional upsert that does not apply says nothing, so each is read back.

On a Qdrant cluster (``replicas`` over 1) a write waits for a majority of the replicas and a read asks a majority, so a
node sees what another has acknowledged. Counting alone has no such choice and may lag for a moment behind a replica.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, Final, Self

import msgspec
import numpy as np
from numpy.typing import NDArray
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from ...schemas import LogEntry, Memory, Unavailable
from ._client import OLDEST_SERVER, WRITE_WITHIN_S, check_version, client_for, translated
from ._collections import Collections, Targets
from ._conditions import PURGED, Conditions, HasVector, conditions
from ._kept import Kept
from ._points import DENSE, MEMORY, PointData, latest, points
from ._rest import point_of, rest_filter, rest_query, stored, upsert
from ._search import First, Missing, Nearest, Newest, Read, Size, Step, alone, searching
from .calibration import Calibration
from .filters import IndexFilter
from .index import Checksum, Facet, Hit, IndexQuery, Pace, checksum_of

__all__ = ["OLDEST_SERVER", "PREFIX", "QdrantIndex", "client_for"]

PREFIX: Final = "afterwit"

_READ_WITHIN_S: Final = 10.0
_ROUNDS: Final = 5
"""Of writing and reading back. The second is enough but for writers of the same memory on other nodes."""
_AT_ONCE: Final = 64
_BYTES_AT_ONCE: Final = 8 << 20  # the server takes 32 MiB of JSON; a vector is about 10 bytes a dimension
_SHORT: Final = 4
_PAGE: Final = 1000
_MEMORY: Final = msgspec.json.Decoder(Memory)


class QdrantIndex:
    """See `Index`. ``client`` is its own from `open` on.

    ::

        async with await QdrantIndex.open(client_for("http://qdrant:6333"), calibration) as index:
            await index.put(entries)
    """

    def __init__(
        self,
        client: AsyncQdrantClient,
        collections: Collections,
        calibration: Calibration,
        *,
        targets: Targets,
        replicas: int = 1,
    ) -> None:
        self._client = client
        self._collections = collections
        self._calibration = calibration
        self._targets = targets
        self._consistency = models.ReadConsistencyType.MAJORITY if replicas > 1 else None
        self._kept = Kept()
        self._rebuilding = asyncio.Lock()
        self._closed = False
        self._state = "ok"

    @classmethod
    async def open(
        cls, client: AsyncQdrantClient, calibration: Calibration, *, prefix: str = PREFIX, replicas: int = 1
    ) -> Self:
        """The index of ``calibration``'s model on the server, made if it is not there.

        ``prefix`` begins the name of every collection, so that several deployments can share a server. ``replicas`` is
        how many copies of a new collection a cluster keeps.

        Raises:
            Unavailable: the server does not answer, or is older than `OLDEST_SERVER`.
        """
        collections = Collections(client, calibration, prefix=prefix, replicas=replicas)
        try:
            with translated():
                async with asyncio.timeout(WRITE_WITHIN_S):
                    check_version((await client.info()).version)
                    targets = await collections.open()
        except BaseException:
            await client.close()
            raise
        return cls(client, collections, calibration, targets=targets, replicas=replicas)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def created(self) -> bool:
        """Whether it was not yet `rebuilt` by any node when it was opened, so that it may lack what the log holds."""
        return not self._targets.whole

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
        if not entries:
            return
        prepared = await self._prepared(entries)
        with self._noted():
            async with asyncio.timeout(WRITE_WITHIN_S):
                await self._put_everywhere(prepared)

    async def search(self, query: IndexQuery) -> list[Hit]:
        """See `Index.search`."""
        steps = searching(self._calibration, query)
        answer: Any = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                hits: list[Hit] = end.value
                return hits
            async with self._reading():
                answer = await self._answer(step)

    async def find(self, filter: IndexFilter, limit: int) -> list[Memory]:
        """See `Index.find`."""
        among = conditions(filter)
        if among.impossible:
            return []
        async with self._reading():
            records = await self._newest(among, limit)
        return [_MEMORY.decode((record.payload or {})[MEMORY]) for record in records]

    async def count(self, filter: IndexFilter) -> int:
        """See `Index.count`."""
        return await self._count(conditions(filter), exact=True)

    async def counts_by_tier(self, filter: IndexFilter) -> dict[str, int]:
        """See `Index.counts_by_tier`."""
        return dict(await self.facet("tier", filter, 100))

    async def counts_by_status(self, filter: IndexFilter) -> dict[str, int]:
        """See `Index.counts_by_status`."""
        return dict(await self.facet("status", filter, 100))

    async def mean_confidence(self, filter: IndexFilter) -> float | None:
        """See `Index.mean_confidence`."""
        counts = await self._facet("confidence_percent", filter, 101)
        total = sum(count for _, count in counts)
        return sum(int(percent) * count for percent, count in counts) / (100 * total) if total else None

    async def facet(self, field: Facet, filter: IndexFilter, limit: int) -> list[tuple[str, int]]:
        """See `Index.facet`."""
        return await self._facet(field, filter, limit)

    async def seqs(self, ids: Sequence[str]) -> dict[str, int]:
        """See `Index.seqs`."""
        async with self._reading():
            return await self._seqs(self._collections.alias, ids)

    async def purged(self, ids: Sequence[str]) -> set[str]:
        """See `Index.purged`."""
        async with self._reading():
            records = await self._client.retrieve(
                self._collections.alias,
                list(ids),
                with_payload=["status"],
                with_vectors=False,
                consistency=self._consistency,
            )
        return {str(record.id) for record in records if (record.payload or {})["status"] == "purged"}

    async def vectors(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """See `Index.vectors`."""
        if not ids:
            return {}
        async with self._reading():
            records: Sequence[Any] = await self._client.retrieve(
                self._collections.alias,
                list(ids),
                with_payload=False,
                with_vectors=[DENSE],
                consistency=self._consistency,
            )
        return {
            str(r.id): np.asarray(r.vector[DENSE], dtype=np.float32) for r in records if r.vector and DENSE in r.vector
        }

    def forget(self, ids: Iterable[str]) -> None:
        """See `Index.forget`."""
        self._kept.forget(ids)

    async def without_vector(self, limit: int) -> list[str]:
        """See `Index.without_vector`."""
        without = rest_filter(Conditions(must_not=(HasVector(DENSE), PURGED)))
        async with self._reading():
            records, _ = await self._client.scroll(
                self._collections.alias,
                scroll_filter=without,
                limit=limit,
                with_payload=False,
                consistency=self._consistency,
            )
        return [str(record.id) for record in records]

    async def checksum(self) -> Checksum:
        """See `Index.checksum`."""
        versions: list[tuple[str, int, str]] = []
        offset: Any = None
        everything = rest_filter(conditions(IndexFilter(pools=None)))
        while True:
            async with self._reading():
                records, offset = await self._client.scroll(
                    self._collections.alias,
                    scroll_filter=everything,
                    limit=_PAGE,
                    offset=offset,
                    with_payload=[MEMORY],
                    consistency=self._consistency,
                )
            memories = (_MEMORY.decode((record.payload or {})[MEMORY]) for record in records)
            versions += ((memory.id, memory.version, memory.status) for memory in memories)
            if offset is None:
                return checksum_of(versions)

    async def rebuilt(self, source: AsyncIterator[Sequence[LogEntry]]) -> int:
        """See `Index.rebuilt`. Nodes that rebuild at the same time each build one; the last to be ready stays."""
        count = 0
        async with self._rebuilding, self._new() as name:
            async for entries in source:
                await self._fill(name, await self._prepared(entries))
                count += len(entries)
            await self._swap(name)
        return count

    async def renewed(self, pace: Pace) -> int:
        """See `Index.renewed`. If another node replaces the one that is copied, this begins anew with that one.

        What was copied from the one before may hold what that other node wanted to be rid of.
        """
        async with self._rebuilding:
            while True:
                async with self._new() as name:
                    copied = (await self._current()).serving
                    count = await self._copy(name, pace)
                    if (await self._current()).serving == copied:
                        await self._swap(name)
                        return count
                    await self._collections.abandon(name)

    async def close(self) -> None:
        """See `Index.close`."""
        if not self._closed:
            self._closed = True
            await self._client.close()

    @asynccontextmanager
    async def _new(self) -> AsyncIterator[str]:
        """A new collection, which gets what is written; forgotten if the block fails."""
        with self._noted():
            name = await self._collections.begin()
        try:
            yield name
        except BaseException:
            with self._noted():
                await asyncio.shield(self._collections.abandon(name))
            raise

    async def _fill(self, name: str, prepared: Sequence[PointData]) -> None:
        with self._noted():
            async with asyncio.timeout(WRITE_WITHIN_S):
                await self._put_into(name, prepared)

    async def _swap(self, name: str) -> None:
        with self._noted():
            await self._collections.swap(name)
            self._targets = await self._current()

    async def _copy(self, name: str, pace: Pace) -> int:
        count, offset = 0, None
        while True:
            async with self._reading():
                records, offset = await self._client.scroll(
                    self._collections.alias,
                    limit=_PAGE,
                    offset=offset,
                    with_payload=False,
                    consistency=self._consistency,
                )
            async for ids in pace([str(record.id) for record in records]):
                for start in range(0, len(ids), _AT_ONCE):
                    await self._fill(name, await self._points(ids[start : start + _AT_ONCE]))
            count += len(records)
            if offset is None:
                return count

    async def _points(self, ids: Sequence[str]) -> list[PointData]:
        async with self._reading():
            records = await self._client.retrieve(
                self._collections.alias,
                list(ids),
                with_payload=True,
                with_vectors=True,
                consistency=self._consistency,
            )
        return list(map(point_of, records))

    async def _prepared(self, entries: Sequence[LogEntry]) -> list[PointData]:
        versions = list(latest(entries).values())
        if len(versions) <= _SHORT:
            return points(versions, self._calibration)
        return await asyncio.to_thread(points, versions, self._calibration)

    async def _put_everywhere(self, prepared: Sequence[PointData]) -> None:
        """Into every collection that takes writes at the end, which may be other ones than at the beginning."""
        done: set[str] = set()
        targets = self._targets
        while missing := [name for name in targets.all if name not in done]:
            name = missing[0]
            try:
                targets = await self._put_into(name, prepared)
            except UnexpectedResponse as e:
                # Another node has replaced it meanwhile, or has given up building it.
                targets = await self._current()
                if e.status_code != 404 or name in targets.all:
                    raise
            done.add(name)
        self._targets = targets

    async def _put_into(self, name: str, prepared: Sequence[PointData]) -> Targets:
        """Write and read back; answers who takes writes, as it was after the last of ours."""
        waiting = {point.id: point for point in prepared}
        for attempt in range(_ROUNDS):
            todo = list(waiting.values())
            if attempt == 0:
                for some in _batched(todo):
                    # One condition for all: it never replaces a newer version, though it may spare an older one.
                    await self._upsert(name, [upsert(some, below=min(point.seq for point in some))])
            else:
                await self._upsert(name, [upsert([point], below=point.seq) for point in todo])
            present, targets = await asyncio.gather(self._seqs(name, list(waiting)), self._current())
            waiting = {id: point for id, point in waiting.items() if present.get(id, -1) < point.seq}
            if not waiting:
                return targets
        raise Unavailable("Qdrant has acknowledged writes that it does not show; try again")

    async def _upsert(self, name: str, operations: list[models.UpsertOperation]) -> None:
        await self._client.batch_update_points(name, operations, wait=True)

    async def _seqs(self, name: str, ids: Sequence[str]) -> dict[str, int]:
        records = await self._client.retrieve(
            name, list(ids), with_payload=["seq"], with_vectors=False, consistency=self._consistency
        )
        return {str(record.id): (record.payload or {})["seq"] for record in records}

    async def _current(self) -> Targets:
        targets = await self._collections.targets()
        if targets is None:
            raise Unavailable("the index is gone from the Qdrant server; restart the nodes to have it built again")
        return targets

    async def _answer(self, step: Step) -> Any:
        match step:
            case First(dense, words):
                answers = iter(await self._query(*dense, *words, *(alone(words[0]) if words else ())))
                cosines, scores = [next(answers) for _ in dense], [next(answers) for _ in words]
                return cosines, scores, [max(top.values(), default=0.0) for top in answers]
            case Missing():
                return await self._query(step.dense, step.words)
            case Size(among):
                return (await self._client.count(self._collections.alias, rest_filter(among), exact=False)).count
            case Read(ids):
                records: Sequence[Any] = await self._client.retrieve(
                    self._collections.alias, ids, with_payload=["seq", MEMORY], consistency=self._consistency
                )
                return {id: self._kept.same(str(id), seq, raw) for id, seq, raw in stored(records)}
            case Newest(among, limit):
                newest = stored(await self._newest(among, limit))
                return {id: self._kept.same(str(id), seq, raw) for id, seq, raw in newest}

    async def _query(self, *queries: Nearest | None) -> list[dict[Any, float]]:
        """Scores by id of each, all in one request; nothing for ``None``."""
        requests = [rest_query(query) for query in queries if query is not None]
        answers = iter(
            await self._client.query_batch_points(self._collections.alias, requests, consistency=self._consistency)
        )
        return [{} if query is None else {hit.id: hit.score for hit in next(answers).points} for query in queries]

    async def _newest(self, among: Conditions, limit: int) -> Sequence[models.Record]:
        records, _ = await self._client.scroll(
            self._collections.alias,
            scroll_filter=rest_filter(among),
            limit=limit,
            order_by=models.OrderBy(key="occurred_at", direction=models.Direction.DESC),
            with_payload=["seq", MEMORY],
            consistency=self._consistency,
        )
        return records

    async def _count(self, among: Conditions, *, exact: bool) -> int:
        if among.impossible:
            return 0
        async with self._reading():
            return int((await self._client.count(self._collections.alias, rest_filter(among), exact=exact)).count)

    async def _facet(self, field: str, filter: IndexFilter, limit: int) -> list[tuple[str, int]]:
        among = conditions(filter)
        if among.impossible:
            return []
        async with self._reading():
            answer = await self._client.facet(
                self._collections.alias,
                field,
                facet_filter=rest_filter(among),
                limit=limit,
                exact=True,
                consistency=self._consistency,
            )
        return [(str(hit.value), hit.count) for hit in answer.hits]

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[None]:
        with self._noted():
            async with asyncio.timeout(_READ_WITHIN_S):
                yield

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Whether the engine did its work is the index's state."""
        if self._closed:
            raise Unavailable("the index is closed")
        try:
            with translated():
                yield
        except Unavailable:
            self._state = "away"
            raise
        self._state = "ok"


def _batched(prepared: Sequence[PointData]) -> Iterator[list[PointData]]:
    """``prepared`` in requests that the server takes."""
    some: list[PointData] = []
    size = 0
    for point in prepared:
        bytes_ = len(point.payload.get(MEMORY, "")) + 10 * len(point.dense or ())
        if some and (len(some) == _AT_ONCE or size + bytes_ > _BYTES_AT_ONCE):
            yield some
            some, size = [], 0
        some.append(point)
        size += bytes_
    if some:
        yield some
