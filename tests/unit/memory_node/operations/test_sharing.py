"""Sharing the same version again: one copy, as long as somebody can find it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from afterwit.bus.log import LogRecord, WrongLastSequence
from afterwit.bus.rpc import Caller
from afterwit.memory_node.operations.changing import Changing
from afterwit.memory_node.write_path import Draft
from afterwit.schemas import Invalid, LogEntry, Memory, Share
from afterwit.schemas.words import Status
from tests.samples import NOON, memory

ORIGINAL = memory("The gate is shut.", version=3)
AGAIN = Share(id=ORIGINAL.id, pool="shared/ops")
ALICE = Caller("alice")


class Bus:
    """A log of newest versions, and all that sharing asks of the rest."""

    def __init__(self) -> None:
        self.memories: dict[str, Memory] = {ORIGINAL.id: ORIGINAL}

    async def latest(self, id: str, _pool: str | None = None) -> LogRecord:
        return LogRecord(LogEntry(memory=self.memories[id], change="created", actor="alice"), 1)

    async def write_one(self, draft: Draft) -> Memory:
        if draft.memory.id in self.memories:
            raise WrongLastSequence("it is there")
        self.memories[draft.memory.id] = draft.memory
        return draft.memory

    async def ensure_visible(self, memory: Memory) -> Memory:
        return memory

    async def share(self) -> Memory:
        async def granted(*_: Any) -> bool:
            return True

        others: dict[str, Any] = dict.fromkeys(("guard", "index", "purging", "contradicting"))
        access: Any = SimpleNamespace(require=granted, may_read=granted)
        log: Any = self
        changing = Changing(access=access, log=log, write_path=log, clock=lambda: NOON, **others)
        return (await changing.share(ALICE, AGAIN)).memory


async def test_the_same_version_shared_twice_is_one_copy() -> None:
    bus = Bus()
    copy = await bus.share()
    changed = bus.memories[copy.id] = replace(copy, version=2, status="disputed")
    assert await bus.share() == changed


@pytest.mark.parametrize("status", ["archived", "superseded", "quarantined", "purged"])
async def test_a_copy_that_nobody_finds_any_more_is_no_answer(status: Status) -> None:
    bus = Bus()
    copy = await bus.share()
    bus.memories[copy.id] = replace(copy, version=2, status=status)
    with pytest.raises(Invalid, match=f"{copy.id} is {status}") as refused:
        await bus.share()
    assert refused.value.detail["copy"] == copy.id
    assert ("restore_version" in str(refused.value)) is (status != "purged")


async def test_a_new_version_of_the_original_is_a_new_copy() -> None:
    bus = Bus()
    copy = await bus.share()
    bus.memories[copy.id] = replace(copy, version=2, status="purged", content="")
    bus.memories[ORIGINAL.id] = replace(ORIGINAL, version=4)
    assert (await bus.share()).id != copy.id
