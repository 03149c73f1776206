"""Building the index anew while it serves, and what that leaves on the disk: nothing of the old one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest

from afterwit.memory_node.index import Calibration, EdgeIndex
from afterwit.schemas import LogEntry, Unavailable

from .conftest import EVERYTHING, EntryMaker, asked, log_of, of

SECRET = "Zq9xW3 needle vK2"


def holding(directory: Path, text: str) -> list[Path]:
    """The files under ``directory`` in which ``text`` stands."""
    return [path for path in directory.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


async def test_it_holds_what_the_source_holds(index: EdgeIndex, entry: EntryMaker) -> None:
    kept, dropped = entry("the fox sleeps"), entry("the owl hunts")
    await index.put([kept, dropped])
    assert await index.rebuilt(log_of([kept])) == 1
    assert not index.created
    assert [memory.content for memory in await index.find(EVERYTHING, 10)] == ["the fox sleeps"]


async def test_the_same_content_has_the_same_checksum_in_any_order(index: EdgeIndex, entry: EntryMaker) -> None:
    entries = [entry(f"note {n}") for n in range(2500)]
    await index.put(entries)
    before = await index.checksum()
    assert before.memories == 2500
    await index.rebuilt(log_of(entries[1000:], entries[:1000]))
    assert await index.checksum() == before
    newer = msgspec.structs.replace(entries[0].memory, version=2, seq=9999)
    await index.put([of(newer)])
    assert await index.checksum() != before


async def test_what_is_put_meanwhile_is_found_before_and_after(index: EdgeIndex, entry: EntryMaker) -> None:
    old = [entry(f"note {n}") for n in range(10)]
    await index.put(old)
    meanwhile = entry("the owl hunts")

    async def source() -> AsyncIterator[Sequence[LogEntry]]:
        yield old[:5]
        await index.put([meanwhile])
        assert (await index.search(asked("owl")))[0].memory == meanwhile.memory
        assert await index.count(EVERYTHING) == 11, "the old one serves until the new one is complete"
        yield old[5:]

    await index.rebuilt(source())
    assert (await index.search(asked("owl")))[0].memory == meanwhile.memory
    assert await index.count(EVERYTHING) == 11


async def test_reads_go_on_across_the_swap(index: EdgeIndex, entry: EntryMaker) -> None:
    entries = [entry(f"the fox {n}") for n in range(300)]
    await index.put(entries)
    stop = asyncio.Event()

    async def read() -> int:
        count = 0
        while not stop.is_set():
            assert await index.count(EVERYTHING) == 300
            assert len(await index.search(asked("fox", limit=5))) == 5
            count += 1
        return count

    readers = [asyncio.create_task(read()) for _ in range(3)]
    for _ in range(3):
        await index.rebuilt(log_of(entries))
    stop.set()
    assert min(await asyncio.gather(*readers)) > 0


async def test_a_rebuild_that_fails_changes_nothing(tmp_path: Path, index: EdgeIndex, entry: EntryMaker) -> None:
    async def source() -> AsyncIterator[Sequence[LogEntry]]:
        yield [entry("half a log")]
        raise Unavailable("the log is away")

    await index.put([entry("the fox sleeps")])
    with pytest.raises(Unavailable, match="the log is away"):
        await index.rebuilt(source())
    assert [memory.content for memory in await index.find(EVERYTHING, 10)] == ["the fox sleeps"]
    assert not holding(tmp_path, "half a log")
    await index.put([entry("the owl hunts")])
    assert await index.count(EVERYTHING) == 2


async def test_the_engine_keeps_what_is_overwritten_and_a_rebuild_does_not(
    tmp_path: Path, calibration: Calibration, entry: EntryMaker
) -> None:
    """If the first half fails one day, the engine has learnt to erase, and purging need not rebuild any more."""
    directory = tmp_path / "index"
    async with await EdgeIndex.open(directory, calibration) as index:
        secret = entry(SECRET, entities=(SECRET,), tags=(SECRET,)).memory
        await index.put([of(secret), entry("the fox sleeps")])
        tombstone = of(msgspec.structs.replace(secret, content="", entities=(), tags=(), status="purged", seq=9))
        await index.put([tombstone])
        assert holding(directory, SECRET)
        await index.rebuilt(log_of([entry("the fox sleeps"), tombstone]))
        assert not holding(directory, SECRET)
        assert await index.seqs([secret.id]) == {secret.id: 9}
    async with await EdgeIndex.open(directory, calibration) as index:
        assert await index.count(EVERYTHING) == 1
    assert not holding(directory, SECRET)


async def test_a_rebuild_takes_indexes_of_other_models_along(
    tmp_path: Path, calibration: Calibration, entry: EntryMaker
) -> None:
    old = tmp_path / "another_model-384-v1"
    old.mkdir()
    (old / "page_0.dat").write_text(SECRET)
    async with await EdgeIndex.open(tmp_path, calibration) as index:
        await index.rebuilt(log_of([entry("the fox sleeps")]))
    assert not old.exists()


async def test_what_a_rebuild_left_when_the_process_died_is_removed(
    tmp_path: Path, calibration: Calibration, entry: EntryMaker
) -> None:
    async with await EdgeIndex.open(tmp_path, calibration) as index:
        await index.rebuilt(log_of([entry("the fox sleeps")]))
    (path,) = (p for p in tmp_path.iterdir() if p.is_dir())
    half = path / "3"
    half.mkdir()
    (half / "page_0.dat").write_text(SECRET)
    async with await EdgeIndex.open(tmp_path, calibration) as index:
        assert await index.count(EVERYTHING) == 1
    assert not half.exists()
