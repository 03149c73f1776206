"""The embedded index: tombstones, restarts, one owner."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from afterwit.memory_node.index import Calibration, EdgeIndex
from afterwit.schemas import Unavailable
from tests.embedders import WordEmbedder

from .conftest import EVERYTHING, EntryMaker, asked, log_of, of


async def test_a_tombstone_is_all_that_is_left_of_a_point(edge: EdgeIndex, entry: EntryMaker) -> None:
    old = entry("the code is 4711", entities=("Vault",)).memory
    await edge.put([of(old)])
    await edge.put([of(msgspec.structs.replace(old, content="", entities=(), status="purged", version=2, seq=9))])
    with edge._shards.reading() as shard:
        (record,) = shard.retrieve([old.id], True, True)
    assert record.payload == {"pool": old.pool, "status": "purged", "seq": 9}
    assert record.vector == {}


async def test_it_outlives_its_process(tmp_path: Path, calibration: Calibration, entry: EntryMaker) -> None:
    async with await EdgeIndex.open(tmp_path, calibration) as first:
        assert first.created
        stored = entry("the fox sleeps", tags=("animal",)).memory
        await first.put([of(stored)])
    async with await EdgeIndex.open(tmp_path, calibration) as again:
        assert again.created, "nobody has filled it from the log yet"
        await again.rebuilt(log_of([of(stored)]))
    async with await EdgeIndex.open(tmp_path, calibration) as again:
        assert not again.created
        assert [hit.memory for hit in await again.search(asked("fox", tags=("animal",)))] == [stored]


async def test_nothing_put_is_lost_when_the_process_dies(tmp_path: Path, calibration: Calibration) -> None:
    script = (
        "import asyncio, os, signal, sys\n"
        "from pathlib import Path\n"
        "from afterwit.memory_node.index import Calibration, EdgeIndex\n"
        "from tests.integration.memory_node.index.conftest import EMBEDDER, Entries\n"
        "async def main():\n"
        "    index = await EdgeIndex.open(Path(sys.argv[1]), Calibration.measure(EMBEDDER))\n"
        "    entry = Entries()\n"
        "    await index.put([entry(f'note {i}') for i in range(300)])\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False, timeout=60)  # noqa: ASYNC221
    assert done.returncode == -9
    async with await EdgeIndex.open(tmp_path, calibration) as index:
        assert await index.count(EVERYTHING) == 300


async def test_a_directory_has_one_owner(tmp_path: Path, calibration: Calibration) -> None:
    async with await EdgeIndex.open(tmp_path, calibration):
        with pytest.raises(Unavailable, match="one owner"):
            await EdgeIndex.open(tmp_path, calibration)


async def test_another_model_is_another_index(tmp_path: Path, calibration: Calibration, entry: EntryMaker) -> None:
    class Another(WordEmbedder):
        model = "words/2"

    async with await EdgeIndex.open(tmp_path, calibration) as index:
        await index.put([entry("a fox")])
    async with await EdgeIndex.open(tmp_path, Calibration.measure(Another())) as other:
        assert other.created
        assert await other.count(EVERYTHING) == 0


async def test_a_damaged_directory_is_unavailable(tmp_path: Path, calibration: Calibration) -> None:
    async with await EdgeIndex.open(tmp_path, calibration):
        pass
    (directory,) = tmp_path.iterdir()
    for file in directory.rglob("*"):
        if file.is_file() and file.suffix == ".json":
            file.write_text("{")
    with pytest.raises(Unavailable, match="cannot be opened"):
        await EdgeIndex.open(tmp_path, calibration)


async def test_a_closed_index_is_unavailable(tmp_path: Path, calibration: Calibration, entry: EntryMaker) -> None:
    index = await EdgeIndex.open(tmp_path, calibration)
    await index.close()
    await index.close()
    with pytest.raises(Unavailable):
        await index.put([entry()])
