"""Ids of memories."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from afterwit.memory_node.ids import derived_id, new_id
from afterwit.schemas import Get
from afterwit.schemas.codec import convert

PARTS = st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=1, max_size=4)


def test_new_ids_are_version_7_and_sort_by_time() -> None:
    times = iter(range(1_700_000_000, 1_700_000_100))
    ids = [new_id(lambda: next(times)) for _ in range(100)]
    assert ids == sorted(ids)
    assert {uuid.UUID(id).version for id in ids} == {7}


def test_an_id_is_a_memory_id_of_the_schema() -> None:
    for id in (new_id(), derived_id("a", "b")):
        assert convert({"id": id}, Get).id == id
        assert uuid.UUID(id).variant == uuid.RFC_4122


@given(PARTS, PARTS)
def test_derived_ids_are_equal_for_equal_parts_only(left: list[str], right: list[str]) -> None:
    assert (derived_id(*left) == derived_id(*right)) == (left == right)
