from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import pytest_asyncio

from afterwit.memory_node.index import Calibration, EdgeIndex, IndexFilter, IndexQuery, embedding
from afterwit.schemas import LogEntry, Memory
from tests.embedders import WordEmbedder
from tests.samples import memory

EMBEDDER = WordEmbedder()
EVERYTHING = IndexFilter(pools=None)


class Entries:
    """Makes entries as the log would hold them, one sequence after the other."""

    def __init__(self) -> None:
        self._seq = 0

    def __call__(self, content: str = "a note", *, embedded: bool = True, **fields: Any) -> LogEntry:
        self._seq += 1
        fields.setdefault("seq", self._seq)
        return of(memory(content, **fields), embedded=embedded)


def of(memory: Memory, *, embedded: bool = True) -> LogEntry:
    """The entry of ``memory``, with its vector."""
    vector = EMBEDDER.embed([memory.content], "passage")[0]
    return LogEntry(
        memory=memory,
        change="created",
        actor="alice",
        embedding=embedding(EMBEDDER.model, vector) if embedded else None,
    )


async def log_of(*batches: Sequence[LogEntry]) -> AsyncIterator[Sequence[LogEntry]]:
    """What a rebuild reads."""
    for batch in batches:
        yield batch


def asked(text: str, *, by_words_alone: bool = False, limit: int = 10, **filters: Any) -> IndexQuery:
    """A search for ``text`` over every pool, unless ``filters`` say otherwise."""
    return IndexQuery(
        text=text,
        vector=None if by_words_alone else EMBEDDER.embed([text], "query")[0],
        filter=IndexFilter(**({"pools": None} | filters)),
        limit=limit,
    )


@pytest.fixture(scope="session")
def calibration() -> Calibration:
    return Calibration.measure(EMBEDDER)


@pytest.fixture
def entry() -> Entries:
    return Entries()


@pytest_asyncio.fixture
async def index(no_leaked_tasks: None, tmp_path: Path, calibration: Calibration) -> AsyncIterator[EdgeIndex]:
    async with await EdgeIndex.open(tmp_path / "index", calibration) as index:
        yield index


EntryMaker: TypeAlias = Callable[..., LogEntry]
