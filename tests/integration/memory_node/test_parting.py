"""Taking a purged turn out of the entries of the turn after it, however far somebody had come with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace
from nats.aio.client import Client
from nats.js import JetStreamContext

from afterwit.bus import names
from afterwit.bus.erasing import Eraser
from afterwit.bus.log import Log
from afterwit.memory_node.index import Calibration, EdgeIndex, recipe, turn_before
from afterwit.memory_node.inference import EmbeddingClient
from afterwit.memory_node.parting import Parting
from afterwit.memory_node.visibility import Visibility
from afterwit.memory_node.write_path import WritePath
from afterwit.schemas import LogEntry
from tests.embedders import WordEmbedder
from tests.samples import entry, memory, new_id


class Bench:
    """A log in which one turn has another one before it, an index that knows both, and what parts them."""

    def __init__(self, nc: Client, index: EdgeIndex, embeddings: EmbeddingClient) -> None:
        self.log = Log(nc)
        self.index = index
        self.write_path = WritePath(self.log, embeddings, index, Visibility())
        self.eraser = Eraser(nc)
        self.parting = Parting(log=self.log, index=index, write_path=self.write_path, eraser=self.eraser)
        self.purged = memory("the door code is 7781", session_id="s", kind="user_input")
        self.id = new_id()

    async def append(self, entry: LogEntry) -> LogEntry:
        """Append ``entry`` to its memory, without indexing it; answers it as it stands."""
        latest = await self.log.latest(entry.memory.id)
        seq = await self.log.append(entry, expected_seq=latest.seq if latest else 0)
        return replace(entry, memory=replace(entry.memory, seq=seq))

    async def versions(self, count: int, **fields: Any) -> list[LogEntry]:
        """So many versions of the turn after."""
        first = replace(
            entry("and who has it?", id=self.id, session_id="s", kind="user_input", **fields),
            before=turn_before(self.purged),
        )
        return [await self.append(replace(first, memory=replace(first.memory, version=n + 1))) for n in range(count)]

    async def bury(self) -> None:
        """The tombstone is indexed."""
        tombstone = replace(self.purged, content="", status="purged", version=2)
        await self.index.put([await self.append(LogEntry(memory=tombstone, change="purged", actor="alice"))])

    async def entries(self) -> list[LogEntry]:
        return [record.entry for record in await self.log.entries(self.id, "agent/alice")]

    async def history(self) -> list[int]:
        return [record.entry.memory.version for record in await self.log.history(self.id, "agent/alice")]


@pytest_asyncio.fixture
async def bench(no_leaked_tasks: None, nc: Client, js: JetStreamContext, tmp_path: Path) -> AsyncIterator[Bench]:
    embedder = WordEmbedder()
    async with (
        EmbeddingClient(embedder) as embeddings,
        await EdgeIndex.open(tmp_path / "index", Calibration.measure(embedder)) as index,
    ):
        yield Bench(nc, index, embeddings)


async def is_parted(bench: Bench, versions: int) -> bool:
    entries = await bench.entries()
    assert await bench.history() == list(range(1, versions + 1))
    assert entries[-1].memory.version == versions
    return all(each.before is None for each in entries)


async def test_what_the_index_knows_together_with_it_is_parted(bench: Bench) -> None:
    """The newest version stands again, with a vector of its own text alone, and the index has it."""
    await bench.index.put(await bench.versions(3))
    await bench.bury()
    (parted,) = await bench.parting.from_purged([bench.purged.id])
    assert await is_parted(bench, 3)
    assert parted.memory.seq == (await bench.index.seqs([bench.id]))[bench.id]
    assert parted.embedding is not None
    assert parted.embedding.recipe == recipe(parted.memory, has_before=False)
    assert await bench.parting.from_purged([bench.purged.id]) == [], "there is nothing left to do"


async def test_older_versions_that_need_more_room_than_an_entry_has(bench: Bench) -> None:
    await bench.index.put(await bench.versions(5, data={"ballast": "x" * 200_000}))
    await bench.bury()
    await bench.parting.from_purged([bench.purged.id])
    assert await is_parted(bench, 5)
    assert len(await bench.entries()) == 4, "each holds one of the older versions"


@pytest.mark.parametrize("erased", [False, True])
async def test_who_was_broken_off_goes_on_where_it_was(bench: Bench, erased: bool) -> None:
    """The first entry that takes the others' place stands there, and what it holds is erased, or not yet."""
    *_, newest = await bench.versions(3)
    await bench.bury()
    await bench.parting.look([newest])
    if erased:
        assert await bench.eraser.erase(names.LOG, [newest.memory.seq or 0]) == 1
    await bench.parting.part(bench.id, "agent/alice")
    assert await is_parted(bench, 3)


async def test_what_was_written_while_the_other_was_purged_is_found_when_it_is_indexed(bench: Bench) -> None:
    await bench.bury()
    late = await bench.versions(1)
    assert await bench.parting.from_purged([bench.purged.id]) == [], "the index does not know it yet"
    await bench.index.put(late)
    await bench.parting.look(late)
    first, again = await bench.entries()
    assert (first.before is None, again.before, again.earlier) == (False, None, ())
    await bench.parting.look(late)
    assert len(await bench.entries()) == 2, "it is begun already"
    await bench.parting.part(bench.id, "agent/alice")
    assert await is_parted(bench, 1)


async def test_what_is_purged_itself_is_left_to_its_own_tombstone(bench: Bench) -> None:
    (first,) = await bench.versions(1)
    await bench.append(replace(first, memory=replace(first.memory, status="purged", version=2), before=None))
    assert await bench.parting.part(bench.id, "agent/alice") is None
    assert len(await bench.entries()) == 2


async def test_a_turn_whose_turn_before_is_not_gone_stays_as_it_is(bench: Bench) -> None:
    (first,) = await bench.versions(1)
    await bench.index.put([first])
    await bench.parting.look([first])
    assert await bench.parting.from_purged([new_id()]) == []
    assert len(await bench.entries()) == 1
