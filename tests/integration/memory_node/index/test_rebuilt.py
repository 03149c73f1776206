"""Building an index anew while it serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import msgspec
import pytest

from afterwit.memory_node.index import Index
from afterwit.schemas import LogEntry, Unavailable

from .conftest import EVERYTHING, EntryMaker, asked, log_of, of

pytestmark = pytest.mark.parametrize("index", ["edge", "facade", "server"], indirect=True)  # too much for local mode


async def test_it_holds_what_the_source_holds(index: Index, entry: EntryMaker) -> None:
    kept, dropped = entry("the fox sleeps"), entry("the owl hunts")
    await index.put([kept, dropped])
    assert await index.rebuilt(log_of([kept])) == 1
    assert not index.created
    assert [memory.content for memory in await index.find(EVERYTHING, 10)] == ["the fox sleeps"]


async def test_the_same_content_has_the_same_checksum_in_any_order(index: Index, entry: EntryMaker) -> None:
    entries = [entry(f"note {n}") for n in range(2500)]
    await index.put(entries)
    before = await index.checksum()
    assert before.memories == 2500
    await index.rebuilt(log_of(entries[1000:], entries[:1000]))
    assert await index.checksum() == before
    newer = msgspec.structs.replace(entries[0].memory, version=2, seq=9999)
    await index.put([of(newer)])
    assert await index.checksum() != before


async def test_what_is_put_meanwhile_is_found_before_and_after(index: Index, entry: EntryMaker) -> None:
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


async def in_pieces(ids: Sequence[str]) -> AsyncIterator[Sequence[str]]:
    for start in range(0, len(ids), 100):
        yield ids[start : start + 100]


async def test_a_renewed_index_answers_as_before(index: Index, entry: EntryMaker) -> None:
    entries = [entry(f"note {n} 笔记", tags=("t",), embedded=n % 3 > 0) for n in range(1200)]
    await index.rebuilt(log_of(entries))
    questions = [asked("note 7", limit=1), asked("笔记 1199", by_words_alone=True, limit=1, tags=("t",))]
    ids = [each.memory.id for each in entries]

    async def answers() -> list[object]:
        found = [await index.search(question) for question in questions]
        vectors = {id: vector.tolist() for id, vector in (await index.vectors(ids)).items()}
        hits = [(hit.cosine, hit.keyword, hit.memory) for (hit,) in found]
        return [hits, vectors, await index.seqs(ids), await index.checksum(), sorted(await index.without_vector(1000))]

    before = await answers()
    assert await index.renewed(in_pieces) == 1200
    assert await answers() == before


async def test_what_is_put_while_it_is_renewed_is_there_afterwards(index: Index, entry: EntryMaker) -> None:
    old = [entry(f"note {n}") for n in range(300)]
    await index.rebuilt(log_of(old))
    newer = [msgspec.structs.replace(each.memory, content="the owl hunts", version=2, seq=9999) for each in old[::50]]
    meanwhile = [entry("the owl sleeps"), *map(of, newer)]

    async def pace(ids: Sequence[str]) -> AsyncIterator[Sequence[str]]:
        async for piece in in_pieces(ids):
            yield piece
            for each in meanwhile:
                await index.put([each])

    await index.renewed(pace)
    assert await index.count(EVERYTHING) == 301
    seqs = {each.memory.id: each.memory.seq for each in meanwhile}
    assert await index.seqs(list(seqs)) == seqs


async def test_a_renewal_that_fails_changes_nothing(index: Index, entry: EntryMaker) -> None:
    async def pace(ids: Sequence[str]) -> AsyncIterator[Sequence[str]]:
        yield ids[:1]
        raise Unavailable("it was broken off")

    await index.rebuilt(log_of([entry("the fox sleeps"), entry("the owl hunts")]))
    with pytest.raises(Unavailable, match="broken off"):
        await index.renewed(pace)
    assert await index.count(EVERYTHING) == 2
    await index.put([entry("the wolf runs")])
    assert await index.count(EVERYTHING) == 3


async def test_reads_go_on_across_the_swap(index: Index, entry: EntryMaker) -> None:
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


async def test_a_rebuild_that_fails_changes_nothing(index: Index, entry: EntryMaker) -> None:
    async def source() -> AsyncIterator[Sequence[LogEntry]]:
        yield [entry("half a log")]
        raise Unavailable("the log is away")

    await index.put([entry("the fox sleeps")])
    with pytest.raises(Unavailable, match="the log is away"):
        await index.rebuilt(source())
    assert [memory.content for memory in await index.find(EVERYTHING, 10)] == ["the fox sleeps"]
    await index.put([entry("the owl hunts")])
    assert await index.count(EVERYTHING) == 2
