"""From the best hits on, over links and names, in a real index."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from afterwit.memory_node.index import Calibration, EdgeIndex, Hit, IndexFilter, IndexQuery, embedding
from afterwit.memory_node.retrieval import PROFILES, Question, Scored, score
from afterwit.memory_node.retrieval.hops import FAN_OUT, Reached, hopped
from afterwit.schemas import Fact, Link, LogEntry, Memory
from afterwit.schemas.words import HIDDEN
from tests.embedders import WordEmbedder
from tests.samples import NOON, memory

EMBEDDER = WordEmbedder()
MINE = IndexFilter(pools=("agent/alice", "shared/team"), statuses_hidden=HIDDEN, clearance=())
QUERY = "the fox sleeps"


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    return Calibration.measure(EMBEDDER)


class Counting:
    """An index that counts what it is asked."""

    def __init__(self, index: EdgeIndex) -> None:
        self._index = index
        self.asked: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        self.asked[name] += 1
        return getattr(self._index, name)


class Graph:
    """Memories in an index, and hops from what answers the query."""

    def __init__(self, index: EdgeIndex) -> None:
        self.index = Counting(index)
        self._seq = 0

    async def put(self, *memories: Memory) -> None:
        entries = []
        for each in memories:
            self._seq += 1
            vector = EMBEDDER.embed([each.content], "passage")[0]
            stored = memory(**{name: getattr(each, name) for name in each.__struct_fields__} | {"seq": self._seq})
            entries.append(
                LogEntry(memory=stored, change="created", actor="alice", embedding=embedding(EMBEDDER.model, vector))
            )
        await self.index.put(entries)

    async def hops(
        self, count: int, where: IndexFilter = MINE, limit: int = 1
    ) -> tuple[dict[str, Hit], dict[str, Reached], list[Scored]]:
        """From the best ``limit`` hits: everything that is known then, how it was reached, and the order of all."""
        vector = EMBEDDER.embed([QUERY], "query")[0]
        query = IndexQuery(text=QUERY, vector=vector, filter=where, limit=limit)
        hits = await self.index.search(query)
        question, profile = Question.of(QUERY, NOON), PROFILES["evidence"]
        direct = {each.memory.id: each.score for each in score(hits, question, profile)}
        found, reached = await hopped(self.index, self.index.calibration, query, hits, direct, count)
        return {hit.id: hit for hit in found}, reached, score(found, question, profile, reached=reached)


@pytest_asyncio.fixture
async def graph(no_leaked_tasks: None, tmp_path: Path, calibration: Calibration) -> AsyncIterator[Graph]:
    async with await EdgeIndex.open(tmp_path, calibration) as index:
        yield Graph(index)


def linked(content: str, rel: Any, target: Memory, weight: float = 1.0, **fields: Any) -> Memory:
    return memory(content, links=(Link(rel=rel, target=target.id, weight=weight),), **fields)


async def test_links_are_followed_both_ways_by_their_weight(graph: Graph) -> None:
    cause, other = memory("rain all night"), memory("nothing to do with it")
    start = linked(QUERY, "caused_by", cause)
    effect = linked("mud on the floor", "caused_by", start)
    strong, weak = linked("one", "supports", start, 0.9), linked("two", "supports", start, 0.3)
    newer = linked("it moved to the barn", "supersedes", start)
    await graph.put(cause, other, start, effect, strong, weak, newer)
    found, reached, _ = await graph.hops(1)
    assert found.keys() == {start.id, cause.id, effect.id, strong.id, weak.id, newer.id}
    assert reached[strong.id].weight == pytest.approx(3 * reached[weak.id].weight)
    assert reached[newer.id].weight > 0.5
    assert [step.via for step in reached[cause.id].path] == ["caused_by"]
    assert [step.via for step in reached[effect.id].path] == ["caused_by, backwards"]
    assert reached[cause.id].path[0].source == start.id


async def test_as_many_hops_as_asked_for(graph: Graph) -> None:
    third = memory("rain all night")
    second = linked("mud on the floor", "caused_by", third)
    first = linked("the broom is out", "related_to", second)
    start = linked(QUERY, "supports", first)
    await graph.put(third, second, first, start)
    assert (await graph.hops(1))[1].keys() == {first.id}
    _, reached, _ = await graph.hops(2)
    assert reached.keys() == {first.id, second.id}
    assert [step.source for step in reached[second.id].path] == [start.id, first.id]
    assert reached[second.id].strength < reached[first.id].strength


async def test_a_shared_name_is_followed(graph: Graph) -> None:
    start = memory(QUERY, entities=("Élias Quay",))
    same, fact = (
        memory("owed 40 crowns", entities=("ELIAS QUAY",)),
        memory("lives in Lund", fact=Fact(subject="Elias Quay", predicate="lives in", object="Lund")),
    )
    place = memory("a town with a cathedral", entities=("Lund",))
    await graph.put(start, same, fact, place, *(memory(f"note {n}") for n in range(5)))
    _, reached, _ = await graph.hops(1)
    assert reached.keys() == {same.id, fact.id}
    assert "name 'elias quay'" in reached[same.id].path[0].via
    assert reached[fact.id].path[0].source == start.id
    assert (await graph.hops(2))[1].keys() == {same.id, fact.id, place.id}


async def test_a_rare_name_says_more_than_one_that_is_everywhere(graph: Graph) -> None:
    start = memory(QUERY, entities=("Kite", "Depot"))
    rare, common = memory("one thing", entities=("Kite",)), memory("another thing", entities=("Depot",))
    await graph.put(start, rare, common, *(memory(f"note {n}", entities=("Depot",)) for n in range(30)))
    _, reached, _ = await graph.hops(1)
    assert reached[rare.id].weight > 3 * reached[common.id].weight


async def test_what_is_reached_never_passes_what_it_was_reached_from(graph: Graph) -> None:
    start = memory(QUERY)
    near = linked("the broom is out", "caused_by", start)
    others = [memory(f"sleeps number {n}") for n in range(8)]
    await graph.put(start, near, *others)
    _, reached, scored = await graph.hops(1, limit=20)
    order = [each.memory.id for each in scored]
    assert order[:2] == [start.id, near.id]
    assert scored[1].score < scored[0].score
    assert scored[1].path == reached[near.id].path
    assert scored[1].signals["hops"] == pytest.approx(reached[near.id].strength)


HIDING: dict[str, dict[str, Any]] = {
    "pool": {"pool": "shared/theirs"},
    "label": {"labels": ("health",)},
    "archived": {"status": "archived"},
    "quarantined": {"status": "quarantined"},
}


async def test_what_may_not_be_found_is_not_passed_through_and_counts_for_nothing(graph: Graph) -> None:
    for why, hidden in HIDING.items():
        pool: dict[str, Any] = {"pool": f"shared/{why}"}
        where = dataclasses.replace(MINE, pools=(f"shared/{why}",))
        start = memory(QUERY, entities=("Kite",), **pool)
        near = memory("the broom is out", entities=("Kite",), **pool)
        to_start, hides = (Link(rel="related_to", target=start.id),), pool | hidden
        between = memory("mud on the floor", links=to_start, entities=("Kite", "Sole"), **hides)
        to_between = (Link(rel="related_to", target=between.id),)
        behind = memory("rain all night", links=to_between, entities=("Sole",), **pool)
        await graph.put(start, near, behind, *(memory(f"note {n}", **pool) for n in range(5)))
        before = await graph.hops(2, where)
        assert before[1].keys() == {near.id}
        await graph.put(between, *(memory(f"more {n}", entities=("Kite", "Sole"), **hides) for n in range(20)))
        assert await graph.hops(2, where) == before, why


async def test_a_filter_holds_at_every_hop(graph: Graph) -> None:
    start = memory(QUERY, tier="semantic")
    event = linked("mud on the floor", "caused_by", start)
    lesson = linked("wipe your feet", "derived_from", event, tier="semantic")
    await graph.put(start, event, lesson)
    assert (await graph.hops(2))[1].keys() == {event.id, lesson.id}
    semantic = IndexFilter(pools=("agent/alice",), tier="semantic")
    assert (await graph.hops(2, semantic))[1] == {}


async def test_hops_are_bounded_and_cost_a_fixed_number_of_reads(graph: Graph) -> None:
    start = memory(QUERY, entities=("Depot", *(f"Name {n}" for n in range(60))))
    crowd = [linked(f"note {n}", "caused_by", start, entities=("Depot", f"Name {n % 60}")) for n in range(200)]
    await graph.put(start, *crowd)
    graph.index.asked.clear()
    found, _, _ = await graph.hops(2)
    assert len(found) <= 1 + 2 * FAN_OUT
    assert graph.index.asked == {"search": 3, "count": 3, "find": 2, "vectors": 2, "calibration": 1}


async def test_namesakes_are_not_followed_into_each_other(graph: Graph) -> None:
    """Nor is a circle walked round and round."""
    start = memory(QUERY + ", said Jordan", entities=("Jordan",))
    person = memory("Jordan prefers tea", entities=("Jordan",))
    country = memory("the train to Jordan was late", entities=("Jordan",))
    await graph.put(start, person, country)
    assert (await graph.hops(2))[1].keys() == {person.id}
    codes = [memory(f"{what} EC-2140", entities=("EC-2140",)) for what in (QUERY, "in the", "asked")]
    await graph.put(*codes)
    assert codes[1].id in (await graph.hops(2, limit=2))[1]
