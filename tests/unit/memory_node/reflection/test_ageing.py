"""What is due to be archived, and what never is."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from afterwit.memory_node.reflection.ageing import due
from afterwit.schemas import Retention
from tests.samples import NOON, memory

MONTH = Retention(episodic=30, semantic=30)


def after(days: float) -> datetime:
    return NOON + timedelta(days=days)


def test_a_pools_retention_says_how_long_it_is_kept() -> None:
    event = memory("looked at shelf 7", kind="tool_call", importance=0.1)
    assert due(event, after(29)) is not None
    assert due(event, after(29), retention=MONTH) is None, "as long as that it is kept, worth it or not"
    assert due(event, after(30), retention=MONTH) == "its pool keeps it for 30 days"
    assert due(event, after(30), retention=Retention(semantic=1)) == due(event, after(30))


def test_what_was_touched_is_kept_anew() -> None:
    assert due(memory("x", updated_at=after(20)), after(40), retention=MONTH) is None


def test_lessons_are_kept_twice_as_long() -> None:
    lesson = memory("Ask before you drain the tank.", tier="semantic", kind="lesson")
    assert due(lesson, after(59), retention=MONTH) is None
    assert due(lesson, after(60), retention=MONTH) == "its pool keeps it for 60 days"


@pytest.mark.parametrize("fields", [{"pinned": True}, {"status": "disputed"}, {"status": "archived"}], ids=str)
def test_what_is_pinned_or_disputed_stays(fields: dict[str, Any]) -> None:
    assert due(memory("x", importance=0.0, **fields), after(5000), retention=MONTH) is None


def test_what_expires_does_so_whatever_its_pool_keeps() -> None:
    assert due(memory("x", expires_at=after(1)), after(2), retention=MONTH) is not None
