from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest
import pytest_asyncio
from numpy.typing import NDArray

from afterwit.memory_node.inference import EmbeddingClient, Priority, Role
from afterwit.memory_node.inference.batching import MAX_BATCH, MAX_BATCH_CHARACTERS
from afterwit.schemas import Quota, Unavailable
from tests.engines.waiting import wait_until


class GatedEmbedder:
    """Notes each call, and answers once the test lets it."""

    model = "gated/1"
    dimensions = 2

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.open = threading.Event()
        self.error: Exception | None = None

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        assert self.open.wait(20)
        if self.error is not None:
            raise self.error
        return np.array([[len(text), role == "query"] for text in texts], dtype=np.float32)


@pytest.fixture
def embedder() -> GatedEmbedder:
    return GatedEmbedder()


@pytest_asyncio.fixture
async def client(embedder: GatedEmbedder) -> AsyncIterator[EmbeddingClient]:
    async with EmbeddingClient(embedder, max_waiting=20) as client:
        yield client
        embedder.open.set()


async def _busy(
    embedder: GatedEmbedder, client: EmbeddingClient, priority: Priority = Priority.STORE
) -> asyncio.Task[NDArray[np.float32]]:
    """A call that keeps a thread of the embedder until the gate opens."""
    task = asyncio.create_task(client.embed(["first"], "passage", priority=priority))
    await wait_until(lambda: bool(embedder.calls), description="the embedder is called")
    return task


async def test_vectors_come_in_the_order_of_the_texts(embedder: GatedEmbedder, client: EmbeddingClient) -> None:
    embedder.open.set()
    vectors = await client.embed(["aaa", "b", "cc", "b"], "query", priority=Priority.STORE)
    assert vectors.tolist() == [[3, 1], [1, 1], [2, 1], [1, 1]]
    assert vectors.dtype == np.float32


async def test_no_texts_give_no_vectors(embedder: GatedEmbedder, client: EmbeddingClient) -> None:
    assert (await client.embed([], "query", priority=Priority.STORE)).shape == (0, 2)
    assert embedder.calls == []


async def test_callers_that_wait_share_a_call(embedder: GatedEmbedder, client: EmbeddingClient) -> None:
    first = await _busy(embedder, client)
    others = [asyncio.create_task(client.embed([f"text {i}"], "passage", priority=Priority.STORE)) for i in range(4)]
    await wait_until(lambda: client.waiting == 4, description="four texts wait")
    embedder.open.set()
    await asyncio.gather(first, *others)
    assert embedder.calls == [["first"], [f"text {i}" for i in range(4)]]


async def test_the_urgent_go_first(embedder: GatedEmbedder, client: EmbeddingClient) -> None:
    first = await _busy(embedder, client)
    wanted = [("store", Priority.STORE), ("retrieval", Priority.RETRIEVAL)]
    others = [asyncio.create_task(client.embed([text], "passage", priority=priority)) for text, priority in wanted]
    await wait_until(lambda: client.waiting == 2, description="two texts wait")
    embedder.open.set()
    await asyncio.gather(first, *others)
    assert embedder.calls == [["first"], ["retrieval"], ["store"]]


async def test_nobody_waits_for_bulk(embedder: GatedEmbedder, client: EmbeddingClient) -> None:
    first = await _busy(embedder, client, Priority.BULK)
    store = asyncio.create_task(client.embed(["store"], "passage", priority=Priority.STORE))
    await wait_until(lambda: len(embedder.calls) == 2, description="the store is embedded beside it")
    embedder.open.set()
    await asyncio.gather(first, store)


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities of their own on Linux alone")
async def test_bulk_has_what_others_leave_of_the_processors() -> None:
    class Noting(GatedEmbedder):
        def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
            nice[texts[0]] = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
            return super().embed(texts, role)

    nice: dict[str, int] = {}
    embedder = Noting()
    embedder.open.set()
    async with EmbeddingClient(embedder) as client:
        for priority in Priority:
            await client.embed([priority.name], "passage", priority=priority)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert nice["BULK"] > own
    assert nice["STORE"] == nice["RETRIEVAL"] == own


async def test_a_batch_is_bounded_in_texts_and_characters(embedder: GatedEmbedder, client: EmbeddingClient) -> None:
    embedder.open.set()
    await client.embed([str(i) for i in range(MAX_BATCH + 1)], "passage", priority=Priority.BULK)
    assert [len(call) for call in embedder.calls] == [MAX_BATCH, 1]
    embedder.calls.clear()
    long = MAX_BATCH_CHARACTERS * 2 // 3
    await client.embed(["x" * long, "y" * long, "z"], "passage", priority=Priority.BULK)
    assert [len(call) for call in embedder.calls] == [1, 2]


async def test_queries_and_passages_are_never_mixed(embedder: GatedEmbedder, client: EmbeddingClient) -> None:
    first = await _busy(embedder, client)
    roles: list[Role] = ["query", "passage"]
    others = [asyncio.create_task(client.embed(["same"], role, priority=Priority.STORE)) for role in roles]
    await wait_until(lambda: client.waiting == 2, description="two texts wait")
    embedder.open.set()
    _, query, passage = await asyncio.gather(first, *others)
    assert (query[0, 1], passage[0, 1]) == (1, 0)


async def test_a_text_seen_before_is_not_embedded_again(embedder: GatedEmbedder, client: EmbeddingClient) -> None:
    embedder.open.set()
    once = await client.embed(["again"], "query", priority=Priority.RETRIEVAL)
    twice = await client.embed(["again"], "query", priority=Priority.RETRIEVAL)
    assert len(embedder.calls) == 1
    assert np.array_equal(once, twice)


async def test_a_cancelled_caller_takes_its_texts_along(embedder: GatedEmbedder, client: EmbeddingClient) -> None:
    first = await _busy(embedder, client)
    gone = asyncio.create_task(client.embed(["gone"], "passage", priority=Priority.STORE))
    stays = asyncio.create_task(client.embed(["stays"], "passage", priority=Priority.STORE))
    await wait_until(lambda: client.waiting == 2, description="two texts wait")
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    embedder.open.set()
    await asyncio.gather(first, stays)
    assert embedder.calls == [["first"], ["stays"]]


async def test_a_full_queue_refuses_and_says_when_to_come_back(
    embedder: GatedEmbedder, client: EmbeddingClient
) -> None:
    first = await _busy(embedder, client)
    many = asyncio.create_task(client.embed([f"text {i}" for i in range(20)], "passage", priority=Priority.STORE))
    await wait_until(lambda: client.waiting == 20, description="the queue is full")
    with pytest.raises(Quota) as refused:
        await client.embed(["one more"], "passage", priority=Priority.RETRIEVAL)
    assert refused.value.detail["retry_after_s"] > 0
    bulk = asyncio.create_task(client.embed(["bulk"], "passage", priority=Priority.BULK))
    embedder.open.set()
    await asyncio.gather(first, many, bulk)


async def test_a_failing_embedder_is_away_until_it_answers_again(
    embedder: GatedEmbedder, client: EmbeddingClient
) -> None:
    embedder.open.set()
    embedder.error = RuntimeError("out of memory")
    with pytest.raises(Unavailable, match="out of memory"):
        await client.embed(["one", "two"], "passage", priority=Priority.STORE)
    assert client.health == "away"
    embedder.error = None
    await client.embed(["one"], "passage", priority=Priority.STORE)
    assert client.health == "ok"


async def test_an_answer_of_the_wrong_shape_is_an_error(embedder: GatedEmbedder, client: EmbeddingClient) -> None:
    embedder.open.set()
    embedder.dimensions = 3
    with pytest.raises(Unavailable, match="shape"):
        await client.embed(["one"], "passage", priority=Priority.STORE)


async def test_closing_refuses_those_who_wait_and_those_who_come(embedder: GatedEmbedder) -> None:
    client = EmbeddingClient(embedder)
    async with client:
        first = await _busy(embedder, client)
        waits = asyncio.create_task(client.embed(["waits"], "passage", priority=Priority.STORE))
        await wait_until(lambda: client.waiting == 1, description="one text waits")
        asyncio.get_running_loop().call_later(0.01, embedder.open.set)
    assert (await first).tolist() == [[5, 0]]
    with pytest.raises(Unavailable):
        await waits
    with pytest.raises(Unavailable):
        await client.embed(["late"], "passage", priority=Priority.STORE)
