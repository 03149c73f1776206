from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest_asyncio

from tests.engines.fake_system import fake_system


@dataclass(frozen=True)
class Endpoint:
    """Where a client finds the gateway, and who it is."""

    url: str
    headers: dict[str, str]


@pytest_asyncio.fixture
async def endpoint(no_leaked_tasks: None, tmp_path: Path) -> AsyncIterator[Endpoint]:
    """The gateway as alice reaches it."""
    async with fake_system(tmp_path, "alice") as system, system.gateway() as url:
        yield Endpoint(url + "/mcp", {"authorization": f"Bearer {system.tokens['alice']}"})
