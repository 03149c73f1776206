"""Too many texts wait for their embedding: what somebody waits for goes on without one, what comes in bulk waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from numpy.typing import NDArray

from afterwit.bus.log import LogRecord
from afterwit.bus.rpc import Caller
from afterwit.memory_node.index import Hit, IndexQuery
from afterwit.memory_node.inference import EmbeddingClient, Models, Priority, Role
from afterwit.memory_node.inference.batching import MAX_BATCH
from afterwit.memory_node.operations.retrieving import Retrieving
from afterwit.memory_node.visibility import Visibility
from afterwit.memory_node.write_path import Draft, WritePath
from afterwit.schemas import LogEntry, Quota, Retrieve
from tests.embedders import WordEmbedder
from tests.engines.waiting import wait_until
from tests.samples import NOON, entry, hit, memory

GATE = memory("The gate is shut.")
DRAFT = Draft(memory=GATE, change="created", actor="alice", expected_seq=0)


class Slow(WordEmbedder):
    """Answers no call before the end."""

    def __init__(self) -> None:
        self.end = threading.Event()

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        assert self.end.wait(20)
        return super().embed(texts, role)


@pytest_asyncio.fixture
async def full() -> AsyncIterator[EmbeddingClient]:
    """No text more may wait, in either lane."""
    embedder = Slow()
    async with EmbeddingClient(embedder, max_waiting=1) as client:
        many = [f"text {i}" for i in range(MAX_BATCH + 1)]
        lanes = [
            asyncio.create_task(client.embed(many, "passage", priority=p)) for p in (Priority.STORE, Priority.BULK)
        ]
        await wait_until(lambda: client.waiting == len(lanes), description="one text waits in each lane")
        yield client
        embedder.end.set()
        await asyncio.gather(*lanes)


async def test_a_retrieval_goes_by_words(full: EmbeddingClient) -> None:
    asked: list[IndexQuery] = []

    async def candidates(query: IndexQuery, _: Any) -> list[Hit]:
        asked.append(query)
        return [hit(GATE, semantic=None, keyword=1.0)]

    async def pools(*_: Any) -> tuple[str, ...]:
        return (GATE.pool,)

    parts: dict[str, Any] = {
        "access": SimpleNamespace(still=pools, readable=pools),
        "finding": SimpleNamespace(speakers=_nothing, candidates=candidates, absent=_nothing),
        "usage": SimpleNamespace(record=_nothing, usefulness=lambda _: 0.5),
        "waiter": None,
    }
    retrieving = Retrieving(models=Models(full), hints=lambda _: (), count=len, clock=lambda: NOON, **parts)
    reply = await retrieving.retrieve(Caller("alice"), Retrieve(query="gate"))
    assert [item.memory.id for item in reply.items] == [GATE.id]
    assert reply.degraded == ("inference",)
    assert [query.vector for query in asked] == [None]


async def test_a_store_is_taken_and_its_embedding_made_later(full: EmbeddingClient) -> None:
    log = Log()
    write_path = WritePath(*parts_of(log, full))
    (written,) = await write_path.write([DRAFT], priority=Priority.STORE, wait=False)
    assert not isinstance(written, Exception)
    assert [each.embedding for each in log.entries] == [None]
    assert write_path.without_embedding.is_set()


async def test_what_comes_in_bulk_is_told_to_wait(full: EmbeddingClient) -> None:
    log = Log()
    write_path = WritePath(*parts_of(log, full))
    with pytest.raises(Quota):
        await write_path.write([DRAFT], priority=Priority.BULK)
    with pytest.raises(Quota):
        await write_path.fill([LogRecord(entry("The gate is shut."), 1)])
    assert not log.entries


class Log:
    """Takes everything."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []

    async def append_many(self, entries: Sequence[tuple[LogEntry, int]], *, waited_for: bool = False) -> list[int]:
        self.entries += [entry for entry, _ in entries]
        return [len(self.entries)] * len(entries)


def parts_of(log: Log, embeddings: EmbeddingClient) -> Any:
    return log, embeddings, SimpleNamespace(state="ok"), Visibility()


async def _nothing(*_: Any) -> tuple[()]:
    return ()
