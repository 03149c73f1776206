from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.engines.system import System


@dataclass(frozen=True)
class Endpoint:
    """Where a client finds the gateway, and who it is."""

    url: str
    headers: dict[str, str]


@pytest.fixture
def endpoint(afterwit: System) -> Endpoint:
    """The gateway of the running product, as alice reaches it."""
    return Endpoint(afterwit.ready.mcp, {"authorization": f"Bearer {afterwit.token('alice')}"})
