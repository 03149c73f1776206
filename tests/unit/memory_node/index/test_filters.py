from __future__ import annotations

from afterwit.memory_node.index import IndexFilter
from afterwit.schemas.retrieve import Where
from afterwit.schemas.words import HIDDEN
from tests.samples import NOON


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
