"""When NATS may store no more, writes are refused with the reason, reads go on, and nothing that is there is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from afterwit.schemas import Get, Memory, Unavailable

from .conftest import Bus


@pytest.fixture
def nats_options(tmp_path: Path) -> str:
    return f'jetstream {{ store_dir: "{tmp_path / "nats" / "jetstream"}", max_file_store: 3MB }}'


async def test_a_full_store_refuses_and_keeps(bus: Bus) -> None:
    kept: list[Memory] = []

    async def until_full() -> None:
        for number in range(200):
            kept.append(await bus.store(f"Reading {number}", data={"raw": "0123456789" * 6000}))  # noqa: PERF401

    with pytest.raises(Unavailable, match=r"the log does not take the entry: .*(resource|maximum)"):
        await until_full()
    assert len(kept) > 5
    for memory in (kept[0], kept[-1]):
        assert (await bus.ask("get", Get(id=memory.id))).memory == memory
    assert (await bus.retrieve("Reading 0")).items
