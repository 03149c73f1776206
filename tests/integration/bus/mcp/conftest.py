from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.engines.fake_system import FakeSystem, fake_system


@pytest_asyncio.fixture
async def system(no_leaked_tasks: None, tmp_path: Path) -> AsyncIterator[FakeSystem]:
    """A bus with a fake node, on which alice, bob and carol exist, and the first two share a pool."""
    async with fake_system(tmp_path, "alice", "bob", "carol") as system:
        await system.create_pool("shared/team", "alice", "bob")
        yield system
