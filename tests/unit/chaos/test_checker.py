"""The checker catches every fault that is planted, and finds none where there is none."""

from __future__ import annotations

import msgspec
import pytest

from tests.chaos.checker import check
from tests.chaos.history import History, is_whole, written

from .small_store import Fault, SmallStore, played

FAULTS: dict[Fault, set[str]] = {
    "lost write": {"lost"},
    "duplicate": {"duplicate"},
    "key forgotten": {"duplicate"},
    "found twice": {"duplicate"},
    "lost update": {"lost update"},
    "version skipped": {"versions"},
    "refused but done": {"refused"},
    "early notice": {"early notice"},
    "missing notice": {"no notice"},
    "notice of nothing": {"false notice"},
    "out of order": {"notices out of order"},
    "stale get": {"stale read"},
    "stale retrieve": {"own write not found"},
    "time runs backwards": {"time ran backwards"},
    "half in the log": {"half"},
    "half when read": {"half"},
    "half in the index": {"half"},
    "index left behind": {"own write not found"},
    "index forgets": {"not found"},
    "memory from nowhere": {"unasked"},
}


@pytest.mark.parametrize("seed", range(8))
def test_a_store_that_keeps_its_promises_passes(seed: int) -> None:
    history = played(SmallStore(), seed=seed)
    assert len(history.writes) > 250
    assert check(history) == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault: Fault, seed: int) -> None:
    rules = {violation.rule for violation in check(played(SmallStore(fault), seed=seed))}
    assert rules >= FAULTS[fault]


def test_nothing_that_happened_is_no_fault() -> None:
    assert check(History()) == []


def test_a_memory_made_of_two_is_not_whole() -> None:
    assert is_whole("one", written("m", 1, "one"))
    assert not is_whole("two", written("m", 1, "one"))
    assert not is_whole("one", written("m", 1, "one") | {"count": 2})
    assert not is_whole("one", None)


def test_an_error_of_the_buss_own_is_a_fault() -> None:
    assert {violation.rule for violation in check(History(refusals={"unavailable": 3, "internal": 1}))} == {"error"}


def test_an_answer_may_name_the_place_where_a_version_stands_once_more() -> None:
    """With the embedding that it lacked: an answer that came late tells of that entry."""
    history = played(SmallStore(), seed=1)
    number, write = next((n, w) for n, w in enumerate(history.writes) if w.what == "store" and w.seq is not None)
    history.writes[number] = msgspec.structs.replace(write, seq=10**6)
    assert {violation.rule for violation in check(history)} == {"lost"}
    history.versions = [
        msgspec.structs.replace(v, again=(10**6,)) if (v.id, v.version) == (write.id, write.version) else v
        for v in history.versions
    ]
    assert check(history) == []
