"""The walk over causes: chains, forks, cycles, gaps, and the order of what it finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from afterwit.bus.log import LogRecord
from afterwit.memory_node.tracing import Found, Step, chosen, in_path_order, walk
from tests.samples import NOON, entry

Edges = dict[int, dict[int, float]]


def record(n: int) -> LogRecord:
    return LogRecord(entry(f"event {n}", id=f"{n:08d}", occurred_at=NOON + timedelta(minutes=n)), seq=n + 1)


async def found(
    edges: Edges, start: int = 9, *, missing: frozenset[int] = frozenset(), depth: int = 50
) -> dict[int, Found]:
    """Walk over ``edges`` (event → its causes and their weights) from ``start``."""

    async def expand(events: Mapping[str, LogRecord]) -> list[Step]:
        return [Step(id, f"{cause:08d}", weight) for id in events for cause, weight in edges.get(int(id), {}).items()]

    async def read(steps: Iterable[Step]) -> dict[str, LogRecord]:
        return {s.target: record(int(s.target)) for s in steps if int(s.target) not in missing}

    return {int(id): f for id, f in (await walk(record(start), expand, read, max_depth=depth)).items()}


def order(of: dict[int, Found]) -> list[int]:
    return [int(f.record.entry.memory.id) for f in in_path_order(of.values())]


async def test_a_chain_comes_back_to_its_root() -> None:
    events = await found({9: {8: 1.0}, 8: {7: 0.8}, 7: {1: 0.5}})
    assert order(events) == [8, 7, 1]
    assert [events[n].depth for n in (8, 7, 1)] == [1, 2, 3]
    assert events[1].weight == 0.4
    assert events[1].via == "00000007"


async def test_a_cause_never_stands_before_its_effect_however_short_another_way_is() -> None:
    events = await found({9: {8: 0.1, 1: 1.0}, 8: {7: 1.0}, 7: {1: 1.0}})
    assert order(events) == [8, 7, 1]
    assert events[1].depth == 3
    assert events[1].weight == 1.0
    assert events[1].via == "00000009"


async def test_a_cycle_is_walked_once() -> None:
    events = await found({9: {8: 1.0}, 8: {7: 1.0}, 7: {9: 1.0, 8: 1.0}})
    assert order(events) == [8, 7]


async def test_what_is_missing_is_passed_over() -> None:
    events = await found({9: {8: 1.0, 5: 1.0}, 8: {7: 1.0}, 5: {4: 1.0}}, missing=frozenset({8}))
    assert order(events) == [5, 4]


async def test_the_depth_is_bounded() -> None:
    assert order(await found({9: {8: 1.0}, 8: {7: 1.0}, 7: {6: 1.0}}, depth=2)) == [8, 7]


async def test_an_event_without_causes_has_none() -> None:
    assert await found({}) == {}


def graphs() -> st.SearchStrategy[Edges]:
    weights = st.floats(0.1, 1.0)
    return st.dictionaries(st.integers(0, 9), st.dictionaries(st.integers(0, 9), weights, max_size=4))


@given(graphs())
async def test_any_graph_is_walked_to_its_end_and_forward_edges_keep_the_order(edges: Edges) -> None:
    forward = {n: {c: w for c, w in causes.items() if c < n} for n, causes in edges.items()}
    events = await found(forward)
    place = {n: i for i, n in enumerate(order(events))}
    reached, todo = set[int](), [9]
    while todo:
        fresh = set(forward.get(todo.pop(), {})) - reached
        reached |= fresh
        todo += fresh
    assert set(events) == reached
    assert all(place[effect] < place[cause] for effect in place for cause in forward.get(effect, {}))
    assert len(await found(edges)) <= 9  # with cycles it ends as well


async def test_the_chain_to_the_root_is_kept_when_little_is_asked_for() -> None:
    edges: Edges = {9: {8: 1.0, 3: 0.1, 2: 0.1}, 8: {7: 1.0}, 7: {1: 1.0}}
    events = {f"{n:08d}": f for n, f in (await found(edges)).items()}
    three = chosen(record(9), events, 3, lambda a, b: 0.0)
    assert [int(f.record.entry.memory.id) for f in three] == [8, 7, 1]
    two = chosen(record(9), events, 2, lambda a, b: 0.0)
    assert [int(f.record.entry.memory.id) for f in two] == [8, 1]


async def test_beyond_the_chain_what_resembles_the_start_comes_first() -> None:
    edges: Edges = {9: {8: 1.0, 3: 0.1, 2: 0.1}}
    events = {f"{n:08d}": f for n, f in (await found(edges)).items()}

    def similarity(start: LogRecord, other: LogRecord) -> float:
        return 1.0 if other.entry.memory.id == "00000002" else 0.0

    assert [int(f.record.entry.memory.id) for f in chosen(record(9), events, 2, similarity)] == [8, 2]
