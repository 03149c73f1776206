from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
import pytest_asyncio
from qdrant_client import AsyncQdrantClient

from afterwit.memory_node.index import Calibration, EdgeIndex, Index, IndexFilter, IndexQuery, embedding
from afterwit.memory_node.index.qdrant import QdrantIndex, client_for
from afterwit.schemas import LogEntry, Memory
from tests.embedders import WordEmbedder
from tests.engines.qdrant import QdrantFacade
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
async def edge(no_leaked_tasks: None, tmp_path: Path, calibration: Calibration) -> AsyncIterator[EdgeIndex]:
    """The embedded index."""
    async with await EdgeIndex.open(tmp_path / "index", calibration) as index:
        yield index


SERVER_URL: Final = "AFTERWIT_TEST_QDRANT_URL"


@pytest_asyncio.fixture(params=["edge", "facade", "local", "server"])
async def index(
    request: pytest.FixtureRequest,
    no_leaked_tasks: None,
    tmp_path: Path,
    calibration: Calibration,
    qdrant: QdrantFacade,
) -> AsyncIterator[Index]:
    """Every index: embedded; on the façade of a server; on the client's own local mode; on a real server, if named."""
    prefix = f"test-{uuid.uuid4().hex[:12]}"
    match request.param:
        case "edge":
            async with await EdgeIndex.open(tmp_path / "index", calibration) as index:
                yield index
            return
        case "facade":
            client = client_for(qdrant.url)
        case "local":
            client = AsyncQdrantClient(":memory:")
        case _:
            if not (url := os.environ.get(SERVER_URL)):
                pytest.skip(f"{SERVER_URL} names no Qdrant server")
            client = client_for(url)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Payload indexes have no effect", UserWarning)  # in local mode
        opened = await QdrantIndex.open(client, calibration, prefix=prefix)
    async with opened as index:
        yield index
        for collection in (await client.get_collections()).collections if request.param == "server" else ():
            if collection.name.startswith(prefix):
                await client.delete_collection(collection.name)


EntryMaker: TypeAlias = Callable[..., LogEntry]
