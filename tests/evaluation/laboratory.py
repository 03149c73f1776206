"""The index and the scoring of the product in this process: seconds where the whole product takes minutes.

What is asked of them is what the node asks (`afterwit.memory_node.operations.retrieving`); what is left out is the bus.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from afterwit.bus.log import Log
from afterwit.memory_node.index import (
    Calibration,
    EdgeIndex,
    Hit,
    IndexFilter,
    IndexQuery,
    embedded_text,
    embedding,
    recipe,
    turn_before,
)
from afterwit.memory_node.inference import Embedder
from afterwit.memory_node.inference.embedder import Role
from afterwit.memory_node.retrieval import Question, impersonal, time_asked
from afterwit.memory_node.retrieval.finding import Finding
from afterwit.memory_node.turns import Turns
from afterwit.schemas import LogEntry, Memory
from tests.evaluation.corpora import Asked, Corpus, texts

_BATCH = 8


class Vectors:
    """Raw vectors of texts, each made once; kept in a file between runs where a folder is given."""

    def __init__(self, embedder: Embedder, folder: Path | None) -> None:
        self._embedder = embedder
        self._folder = folder
        self._known: defaultdict[Role, dict[str, NDArray[np.float32]]] = defaultdict(dict)

    def of(self, name: str, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """One row per text."""
        path = self._folder / f"{name}-{role}.npz" if self._folder else None
        known = self._known[role]
        kept: dict[str, NDArray[np.float32]] = {}
        if path is not None and path.exists():
            with np.load(path, allow_pickle=False) as file:
                kept = dict(zip(file["texts"].tolist(), file["vectors"], strict=True))
            known.update(kept)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        for start in range(0, len(missing), _BATCH):
            some = missing[start : start + _BATCH]
            known.update(zip(some, self._embedder.embed(some, role), strict=True))
        if path is not None and not kept.keys() >= set(texts):
            kept |= {text: known[text] for text in texts}
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, texts=np.array(list(kept)), vectors=np.stack(list(kept.values())))
        return np.stack([known[text] for text in texts])


@asynccontextmanager
async def indexed(
    corpus: Corpus, vectors: Vectors, calibration: Calibration, directory: Path, *, context: bool = True
) -> AsyncIterator[EdgeIndex]:
    """The corpus in an index as the write path would bring it there; without ``context``, each memory alone."""
    async with await EdgeIndex.open(directory, calibration) as index:
        before: list[Memory | None] = [None] * len(corpus.memories)
        if context:
            before = await Turns(index).before(corpus.memories)
        plain = [m.content for m in corpus.memories]
        whole = [
            embedded_text(memory, turn.content if turn else None)
            for memory, turn in zip(corpus.memories, before, strict=True)
        ]
        raw = await asyncio.to_thread(vectors.of, corpus.name, whole if context else plain, "passage")
        entries = [
            LogEntry(
                memory=memory,
                change="created",
                actor=memory.author,
                embedding=embedding(calibration.model, vector, recipe(memory, has_before=turn is not None)),
                before=turn_before(turn) if turn else None,
            )
            for memory, vector, turn in zip(corpus.memories, raw, before, strict=True)
        ]
        for start in range(0, len(entries), 256):
            await index.put(entries[start : start + 256])
        yield index


async def queries_of(
    index: EdgeIndex, corpus: Corpus, vectors: Vectors, *, limit: int = 50, names: bool = False, only_then: bool = False
) -> list[IndexQuery]:
    """What the index is asked for each question.

    With ``names``, the vector is of the question as it stands; with ``only_then``, a time that it names is a filter.
    """
    finding = Finding(index, cast("Log", None), index.calibration)  # the log is for when the index is away
    asked = [q.text if names else impersonal(q.text, await finding.speakers(q.text, q.where)) for q in corpus.questions]
    raw = await asyncio.to_thread(vectors.of, corpus.name, asked, "query")
    return [
        IndexQuery(text=question.text, vector=vector, filter=_within(question, only_then=only_then), limit=limit)
        for question, vector in zip(corpus.questions, raw, strict=True)
    ]


async def hits_of(
    index: EdgeIndex, corpus: Corpus, vectors: Vectors, *, names: bool = False, only_then: bool = False
) -> list[list[Hit]]:
    """What the index brings for each question (see `queries_of`)."""
    queries = await queries_of(index, corpus, vectors, names=names, only_then=only_then)
    return [await index.search(query) for query in queries]


def _within(asked: Asked, *, only_then: bool) -> IndexFilter:
    if not only_then:
        return asked.where
    question = Question.of(asked.text, asked.now, asked.time_zone)
    return dataclasses.replace(asked.where, time_range=time_asked(question, asked.where.time_range))


async def absent_of(index: EdgeIndex, corpus: Corpus, vectors: Vectors, hits: Sequence[Sequence[Hit]]) -> list[bool]:
    """Of each question, whether what it asks of something named is not there."""
    finding = Finding(index, cast("Log", None), index.calibration)

    async def embed(text: str) -> NDArray[np.float32]:
        row: NDArray[np.float32] = (await asyncio.to_thread(vectors.of, corpus.name, [text], "query"))[0]
        return row

    return [
        await finding.absent(found, Question.of(q.text, q.now, q.time_zone), q.where, embed)
        for found, q in zip(hits, corpus.questions, strict=True)
    ]


def content_vectors(corpus: Corpus, vectors: Vectors) -> NDArray[np.float32]:
    """Raw vectors of the contents alone: the plain baseline."""
    return vectors.of(corpus.name, texts(corpus.memories), "passage")
