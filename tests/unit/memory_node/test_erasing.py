"""What a node remembers of the entries that it finished together with a tombstone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from afterwit.memory_node import erasing
from afterwit.memory_node.erasing import Erasing
from afterwit.schemas import LogEntry
from tests.engines.waiting import wait_until
from tests.samples import NOON, entry


async def _nothing(*_: Any, **__: Any) -> None:
    pass


async def _none(*_: Any, **__: Any) -> tuple[()]:
    return ()


@dataclass
class Bench:
    """An erasing between doubles; ``parted`` are the memories that were parted by an entry of their own."""

    with_tombstones: Sequence[LogEntry]
    parted: list[str] = field(default_factory=list)
    acked: int = 0

    def erasing(self) -> Erasing:
        async def part(id: str, _: str) -> None:
            self.parted.append(id)

        async def from_purged(_: Sequence[str]) -> Sequence[LogEntry]:
            return self.with_tombstones

        eraser = SimpleNamespace(wash=_nothing, erase_mentions=_nothing, erase_earlier=_nothing)
        parts: dict[str, Any] = {
            "log": SimpleNamespace(history=_none),
            "index": SimpleNamespace(created=False, renewed=_nothing),
            "window": SimpleNamespace(put=_nothing),
            "announcer": SimpleNamespace(announce=_nothing),
            "eraser": eraser,
            "parting": SimpleNamespace(part=part, from_purged=from_purged),
            "jobs": SimpleNamespace(forget=_nothing),
            "background": SimpleNamespace(pieces=None),
        }
        return Erasing(clock=lambda: NOON, on_visible=lambda _: None, **parts)

    async def handled(self, erasing: Erasing, entry: LogEntry) -> None:
        """``entry`` was delivered, and is acknowledged."""

        async def ack() -> None:
            self.acked += 1

        before = self.acked
        message: Any = SimpleNamespace(ack=ack)
        erasing.take(message, entry)
        await wait_until(lambda: self.acked > before, description="the entry is acknowledged")


@pytest.mark.parametrize(("most", "again"), [(2, 0), (1, 1)])
async def test_finished_entries_are_remembered_up_to_a_bound(
    most: int, again: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that another node gets are never heard of here; one that was forgotten is finished once more."""
    monkeypatch.setattr(erasing, "_MOST_PARTED", most)
    follows = [replace(entry(f"turn {seq}", seq=seq), earlier=()) for seq in (11, 12)]
    bench = Bench(follows)
    async with bench.erasing() as under_test:
        await bench.handled(under_test, replace(entry("", seq=10, status="purged"), change="purged"))
        for each in reversed(follows):
            await bench.handled(under_test, each)
    assert len(bench.parted) == again
