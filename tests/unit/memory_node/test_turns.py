"""Which turn came before."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

from afterwit.memory_node.index import Index, IndexFilter
from afterwit.memory_node.turns import Turns
from afterwit.schemas import Memory, Unavailable
from tests.samples import NOON, memory


class Found:
    """An index that has these, newest first, or is away."""

    def __init__(self, memories: Sequence[Memory] = (), *, away: bool = False) -> None:
        self.memories = list(memories)
        self.away = away
        self.asked: list[IndexFilter] = []

    async def find(self, filter: IndexFilter, limit: int) -> list[Memory]:
        self.asked.append(filter)
        if self.away:
            raise Unavailable("the index is away")
        return self.memories[:limit]


def turns(*memories: Memory, away: bool = False) -> tuple[Turns, Found]:
    index = Found(memories, away=away)
    return Turns(cast("Index", index)), index


def event(
    content: str, turn: int | None = None, *, session: str | None = "s1", minutes: float = 0, **fields: Any
) -> Memory:
    at = NOON + timedelta(minutes=minutes)
    return memory(content, session_id=session, turn=turn, occurred_at=at, **fields)


async def before(known: Turns, *memories: Memory) -> list[str | None]:
    return [turn.content if turn else None for turn in await known.before(memories)]


async def test_the_turn_before_in_one_batch() -> None:
    known, _ = turns()
    assert await before(known, event("a", 1), event("b", 2), event("c", 3)) == [None, "a", "b"]


async def test_the_turn_before_of_an_earlier_batch_is_remembered() -> None:
    known, index = turns()
    await before(known, event("a", 1))
    assert await before(known, event("b", 2)) == ["a"]
    assert len(index.asked) == 1, "one question to the index for each conversation"


async def test_what_this_node_has_not_written_is_looked_up() -> None:
    known, _ = turns(event("of another node", 4))
    assert await before(known, event("mine", 5)) == ["of another node"]


async def test_sessions_and_authors_and_pools_are_kept_apart() -> None:
    known, _ = turns()
    others = [
        event("a", 1, session="s2"),
        event("b", 1, author="bob"),
        event("c", 1, pool="shared/ops"),
        event("d", 2),
    ]
    assert await before(known, *others) == [None, None, None, None]


async def test_a_late_turn_has_no_later_one_before_it() -> None:
    known, _ = turns()
    assert await before(known, event("five", 5), event("three", 3), event("six", 6)) == [None, None, "five"]


async def test_talk_without_a_session_is_one_conversation_within_half_an_hour() -> None:
    known, _ = turns()
    talk = [
        event("Caroline: How was it?", session=None),
        event("Mel: Great!", session=None, minutes=1),
        event("Caroline: Hi again", session=None, minutes=90),
    ]
    assert await before(known, *talk) == [None, "Caroline: How was it?", None]


async def test_notes_and_facts_stand_alone() -> None:
    known, index = turns()
    notes = [event("one thing", session=None), event("another", session=None)]
    rules = [event("Rule: no", session=None, kind="procedure"), event("Rule: yes", session=None, kind="procedure")]
    assert await before(known, *notes, *rules) == [None] * 4
    assert index.asked == []


async def test_labels_are_not_carried_over_to_what_has_none() -> None:
    known, _ = turns()
    private, public = event("his diagnosis", 1, labels=("health",)), event("see you", 2)
    assert await before(known, private, public) == [None, None]


async def test_what_was_purged_is_before_nothing() -> None:
    known, _ = turns()
    gone = event("a secret", 1)
    await before(known, gone)
    known.forget([gone.id])
    assert await before(known, event("b", 2)) == [None]


async def test_without_an_index_a_turn_goes_in_alone() -> None:
    known, _ = turns(away=True)
    assert await before(known, event("a", 2)) == [None]


async def test_only_so_many_conversations_are_remembered() -> None:
    known, _ = turns()
    await asyncio.wait_for(known.before([event("x", 1, session=f"s{i}") for i in range(5000)]), 30)
    assert len(known._newest) == 4096
