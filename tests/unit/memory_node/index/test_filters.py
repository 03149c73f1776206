from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any, get_args

import pytest

from afterwit.memory_node.index import IndexFilter
from afterwit.memory_node.index._conditions import conditions, parts
from afterwit.memory_node.index._points import point
from afterwit.memory_node.index.entries import fulfils
from afterwit.schemas.retrieve import Where
from afterwit.schemas.words import HIDDEN, Status
from tests import samples
from tests.samples import NOON

HOUR = timedelta(hours=1)


def test_a_request_is_narrowed_to_the_pools_that_may_be_read() -> None:
    where = Where(pools=("shared/secret", "shared/team"), tier="semantic", tags=("seat",), clearance=("health",))
    filter = IndexFilter.of(where, pools=["shared/team"], valid_at=NOON)
    assert filter == IndexFilter(
        pools=("shared/team",),
        tier="semantic",
        tags=("seat",),
        clearance=("health",),
        statuses_hidden=HIDDEN,
        valid_at=NOON,
    )


def test_without_clearance_labelled_memories_are_out() -> None:
    assert IndexFilter.of(Where(), pools=[]).clearance == ()


def test_archived_ones_come_with_what_has_ended() -> None:
    filter = IndexFilter.of(Where(include_archived=True), pools=["shared/team"], valid_at=NOON)
    assert (filter.statuses_hidden, filter.valid_at) == (frozenset(), None)


@pytest.mark.parametrize("valid_at", [None, NOON])
@pytest.mark.parametrize("clearance", [None, (), ("health",)])
def test_what_passes_a_filter_passes_one_of_its_parts(clearance: tuple[str, ...] | None, valid_at: Any) -> None:
    filter = IndexFilter(
        pools=("agent/alice",), tier="episodic", clearance=clearance, statuses_hidden=HIDDEN, valid_at=valid_at
    )
    times: list[dict[str, Any]] = [
        {},
        *({field: NOON + apart} for field in ("valid_from", "valid_to", "expires_at") for apart in (-HOUR, HOUR)),
    ]
    passed = 0
    for status, labels, time, pool, tier in itertools.product(
        get_args(Status),
        ((), ("health",), ("health", "law")),
        times,
        ("agent/alice", "agent/bob"),
        ("episodic", "semantic"),
    ):
        made = point(samples.entry(seq=1, pool=pool, tier=tier, status=status, labels=labels, **time), None)
        whole = fulfils(conditions(filter), made.id, made.payload)
        assert sum(fulfils(part, made.id, made.payload) for part in parts(filter)) == whole
        passed += whole
    assert passed


def test_where_hidden_ones_are_looked_for_the_filter_has_one_part() -> None:
    filter = IndexFilter(pools=("agent/alice",), clearance=(), valid_at=NOON)
    assert parts(filter) == (conditions(filter),)
    everywhere = IndexFilter(pools=None, statuses_hidden=HIDDEN)
    assert parts(everywhere) == (conditions(everywhere),)
