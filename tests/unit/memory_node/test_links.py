"""What edges weigh, and which targets may be named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import pytest
from msgspec.structs import replace

from afterwit.bus.log import Log, LogRecord
from afterwit.memory_node.access import Access
from afterwit.memory_node.links import (
    DEFAULT_CAUSE_WEIGHT,
    cause_weight,
    caused_by,
    check_all_found,
    check_in_time,
    readable_records,
)
from afterwit.schemas import Invalid, LogEntry, Store
from tests.samples import entry


class Records:
    """A log that holds what it was given."""

    def __init__(self, entries: Iterable[LogEntry]) -> None:
        self.records = {e.memory.id: LogRecord(e, seq) for seq, e in enumerate(entries, 1)}

    async def latest_many(self, ids: Sequence[str]) -> dict[str, LogRecord]:
        assert len(set(ids)) == len(ids)
        return {id: self.records[id] for id in ids if id in self.records}


class OnlyShared:
    async def may_read(self, agent: str, pool: str) -> bool:
        return pool.startswith("shared/")


def test_weights_are_those_of_the_design() -> None:
    assert cause_weight("tool_call", "tool_result") == 1.0
    assert cause_weight("agent_thought", "final_answer") == 0.8
    assert cause_weight("note", "note") == DEFAULT_CAUSE_WEIGHT


def test_a_cause_named_twice_is_one_link() -> None:
    call = entry(kind="tool_call")
    (link,) = caused_by("tool_result", [call.memory.id] * 2, {call.memory.id: LogRecord(call, 1)})
    assert (link.rel, link.target, link.weight) == ("caused_by", call.memory.id, 1.0)


async def test_only_what_is_there_and_may_be_read_is_found() -> None:
    seen, hidden = entry(pool="shared/ops"), entry(pool="agent/bob")
    log, unknown = Records([seen, hidden]), "0" * 8
    found = await readable_records(
        cast("Log", log),
        cast("Access", OnlyShared()),
        "alice",
        [seen.memory.id, hidden.memory.id, unknown, seen.memory.id],
    )
    assert list(found) == [seen.memory.id]


async def test_nothing_is_asked_about_nothing() -> None:
    assert await readable_records(cast("Log", None), cast("Access", None), "alice", []) == {}


def test_an_error_names_those_that_are_missing() -> None:
    with pytest.raises(Invalid) as raised:
        check_all_found("caused_by", ["a", "b", "a"], {"b": LogRecord(entry(), 1)})
    assert raised.value.detail == {"field": "caused_by", "ids": ["a"]}


def test_a_cause_is_no_later_turn_of_the_same_session() -> None:
    cause = entry(session_id="s", turn=5)
    records = {cause.memory.id: LogRecord(cause, 1)}

    def effect(**fields: Any) -> Store:
        return replace(Store(content="x", session_id="s", turn=4, caused_by=(cause.memory.id,)), **fields)

    with pytest.raises(Invalid, match=r"turn 5 .* after turn 4") as raised:
        check_in_time("alice", effect(), records)
    assert raised.value.detail == {"field": "caused_by", "ids": [cause.memory.id]}
    for fine in (effect(turn=5), effect(turn=6), effect(turn=None), effect(session_id="t"), effect(caused_by=())):
        check_in_time("alice", fine, records)
    check_in_time("bob", effect(), records)
