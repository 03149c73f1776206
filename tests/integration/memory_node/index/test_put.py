"""What every index keeps: versions in order, tombstones, whoever writes."""

from __future__ import annotations

import asyncio
import random

import msgspec
import pytest

from afterwit.memory_node.index import Index, IndexFilter
from afterwit.schemas import Internal

from .conftest import EVERYTHING, EntryMaker, asked, of


async def test_what_was_put_is_found_as_it_was(index: Index, entry: EntryMaker) -> None:
    stored = entry("Marta likes the aisle", data={"a": [1, None]}, entities=("Marta",), labels=("health",)).memory
    await index.put([of(stored)])
    assert await index.find(EVERYTHING, 10) == [stored]
    assert await index.seqs([stored.id, "0" * 8 + "-0000-0000-0000-" + "0" * 12]) == {stored.id: stored.seq}


async def test_an_older_version_never_replaces_a_newer_one(index: Index, entry: EntryMaker) -> None:
    old = entry("first").memory
    new = msgspec.structs.replace(old, content="second", version=2, seq=50)
    await index.put([of(new)])
    await index.put([of(old)])
    assert await index.find(EVERYTHING, 10) == [new]
    await index.put([of(new)])
    assert await index.seqs([old.id]) == {old.id: 50}


async def test_versions_in_any_order_end_with_the_newest(index: Index, entry: EntryMaker) -> None:
    memories = [entry(f"note {i}").memory for i in range(5)]
    versions = [
        msgspec.structs.replace(m, version=v, seq=100 * v + i) for i, m in enumerate(memories) for v in range(1, 9)
    ]
    random.Random(7).shuffle(versions)  # noqa: S311  # the same order in every run
    await asyncio.gather(*(index.put([of(v) for v in versions[i : i + 7]]) for i in range(0, len(versions), 7)))
    assert await index.seqs([m.id for m in memories]) == {m.id: 800 + i for i, m in enumerate(memories)}


async def test_an_update_without_a_vector_leaves_no_old_vector(index: Index, entry: EntryMaker) -> None:
    old = entry("the fox sleeps").memory
    await index.put([of(old)])
    new = msgspec.structs.replace(old, content="owls hunt at night", version=2, seq=9)
    await index.put([of(new, embedded=False)])
    assert await index.without_vector(10) == [old.id]
    (hit,) = await index.search(asked("owls"))
    assert (hit.semantic, hit.cosine, hit.memory) == (None, None, new)
    assert await index.search(asked("fox", by_words_alone=True)) == []


async def test_a_vector_of_another_model_is_not_taken(index: Index, entry: EntryMaker) -> None:
    made = entry("the fox sleeps")
    assert made.embedding is not None
    other = msgspec.structs.replace(made, embedding=msgspec.structs.replace(made.embedding, model="other/1"))
    broken = entry("an owl")
    assert broken.embedding is not None
    short = msgspec.structs.replace(broken, embedding=msgspec.structs.replace(broken.embedding, values=b"\0\0"))
    await index.put([other, short])
    assert set(await index.without_vector(10)) == {other.memory.id, short.memory.id}


async def test_a_purged_memory_leaves_nothing_and_stays_away(index: Index, entry: EntryMaker) -> None:
    old = entry("the code is 4711", entities=("Marta",), tags=("code",)).memory
    await index.put([of(old)])
    tombstone = msgspec.structs.replace(old, content="", entities=(), tags=(), status="purged", version=2, seq=9)
    await index.put([of(tombstone, embedded=False)])
    await index.put([of(old)])
    assert await index.seqs([old.id]) == {old.id: 9}
    assert await index.count(EVERYTHING) == 0
    assert await index.find(EVERYTHING, 10) == []
    assert await index.search(asked("4711")) == []
    assert await index.search(asked("")) == []
    assert await index.without_vector(10) == []
    assert await index.counts_by_status(EVERYTHING) == {}


async def test_a_search_brings_the_newest_version_though_an_older_one_was_found(
    index: Index, entry: EntryMaker
) -> None:
    one, other = entry("the fox sleeps").memory, entry("the fox eats").memory
    await index.put([of(one), of(other)])
    assert {hit.memory.version for hit in await index.search(asked("fox"))} == {1}
    await index.put([of(msgspec.structs.replace(one, content="the fox wakes", version=2, seq=9))])
    found = {hit.id: hit.memory.content for hit in await index.search(asked("fox"))}
    assert found == {one.id: "the fox wakes", other.id: "the fox eats"}
    index.forget([one.id])
    assert {hit.id for hit in await index.search(asked("fox"))} == {one.id, other.id}


async def test_an_entry_that_is_not_in_the_log_is_our_fault(index: Index, entry: EntryMaker) -> None:
    with pytest.raises(Internal):
        await index.put([entry(seq=None)])


async def test_an_empty_put_does_nothing(index: Index) -> None:
    await index.put([])
    assert await index.count(EVERYTHING) == 0


async def test_reads_and_writes_at_once(index: Index, entry: EntryMaker) -> None:
    async def write(n: int) -> None:
        for i in range(10):
            await index.put([entry(f"the fox number {n} {i} {j}", pool=f"shared/p{n}") for j in range(5)])

    async def read(n: int) -> None:
        for _ in range(20):
            for hit in await index.search(asked("fox", pools=(f"shared/p{n}",))):
                assert hit.memory.pool == f"shared/p{n}"

    async with asyncio.TaskGroup() as tasks:
        for n in range(4):
            tasks.create_task(write(n))
            tasks.create_task(read(n))
    assert await index.count(EVERYTHING) == 200
    assert await index.count(IndexFilter(pools=("shared/p2",))) == 50
