"""What rebuilding the embedded index leaves on the disk: nothing of the old one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest

from afterwit.memory_node.giving_way import Background, Way
from afterwit.memory_node.index import Calibration, EdgeIndex
from afterwit.schemas import LogEntry, Unavailable

from .conftest import EVERYTHING, EntryMaker, log_of, of

SECRET = "Zq9xW3 needle vK2"


def holding(directory: Path, text: str) -> list[Path]:
    """The files under ``directory`` in which ``text`` stands."""
    return [path for path in directory.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


async def test_a_rebuild_that_fails_leaves_nothing(tmp_path: Path, edge: EdgeIndex, entry: EntryMaker) -> None:
    async def source() -> AsyncIterator[Sequence[LogEntry]]:
        yield [entry("half a log")]
        raise Unavailable("the log is away")

    await edge.put([entry("the fox sleeps")])
    with pytest.raises(Unavailable, match="the log is away"):
        await edge.rebuilt(source())
    assert [memory.content for memory in await edge.find(EVERYTHING, 10)] == ["the fox sleeps"]
    assert not holding(tmp_path, "half a log")
    await edge.put([entry("the owl hunts")])
    assert await edge.count(EVERYTHING) == 2


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


async def test_a_renewed_index_is_the_same_and_keeps_nothing_else(
    tmp_path: Path, calibration: Calibration, entry: EntryMaker
) -> None:
    directory = tmp_path / "index"
    async with await EdgeIndex.open(directory, calibration) as index:
        secret = entry(SECRET, entities=(SECRET,), tags=(SECRET,)).memory
        await index.rebuilt(log_of([of(secret), entry("the fox sleeps")]))
        await index.put([of(msgspec.structs.replace(secret, content="", entities=(), tags=(), status="purged", seq=9))])
        assert holding(directory, SECRET)
        assert await index.renewed(Background(Way()).pieces) == 2
        assert not holding(directory, SECRET)
        assert await index.purged([secret.id]) == {secret.id}
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
