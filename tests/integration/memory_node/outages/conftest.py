"""A node in this process whose index and embedder can be taken away; NATS and Valkey are real."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from nats.aio.client import Client
from numpy.typing import NDArray

from afterwit.bus.rpc import Requester
from afterwit.memory_node import node
from afterwit.memory_node.index import EdgeIndex
from afterwit.memory_node.inference import Role
from afterwit.memory_node.settings import NodeSettings
from afterwit.schemas import Memory, Retrieve, RetrieveReply, Store, StoreReply, Unavailable
from tests.embedders import WordEmbedder
from tests.engines.nats_server import NatsServer


class Switch(WordEmbedder):
    """An embedder with a switch, which counts the passages it embeds; it refuses texts with ``poison`` in them."""

    def __init__(self) -> None:
        self.away = False
        self.passages: list[str] = []

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        if self.away or any("poison" in text for text in texts):
            raise RuntimeError("no answer")
        if role == "passage":
            self.passages += texts
        return super().embed(texts, role)


@dataclass
class Bus:
    """The node, and an agent who asks it."""

    requester: Requester
    embedder: Switch
    settings: NodeSettings
    index_away: bool = False
    agent: str = "alice"
    asked: list[str] = field(default_factory=list)

    async def ask(self, op: str, request: Any) -> Any:
        return await self.requester.call(self.agent, op, request, timeout_s=20)

    async def store(self, content: str, **fields: Any) -> Memory:
        reply: StoreReply = await self.ask("store", Store(content=content, **fields))
        return reply.memory

    async def retrieve(self, query: str, **fields: Any) -> RetrieveReply:
        reply: RetrieveReply = await self.ask("retrieve", Retrieve(query=query, **fields))
        return reply


@pytest.fixture
def nats_options() -> str:
    """More configuration of the NATS server; a test module may have its own."""
    return ""


@pytest.fixture
def nats_server(no_leaks: None, tmp_path: Path, nats_options: str) -> Iterator[NatsServer]:
    """As everywhere, with those options."""
    with NatsServer(tmp_path / "nats", extra=nats_options) as server:
        yield server


@pytest.fixture
def visible_within_s() -> float:
    """How long a store waits to become visible: where nothing keeps it from that, as long as a machine stands still."""
    return 60.0


@pytest.fixture
def settings(tmp_path: Path, nats_server: NatsServer, valkey: str, visible_within_s: float) -> NodeSettings:
    return NodeSettings(
        nats_url=nats_server.url,
        redis_url=valkey,
        data_dir=tmp_path / "data",
        visible_within_s=visible_within_s,
    )


@pytest_asyncio.fixture
async def bus(nc: Client, settings: NodeSettings, switchable: list[Bus]) -> AsyncIterator[Bus]:
    made = Bus(Requester(nc), Switch(), settings)
    switchable.append(made)
    async with serving(made):
        yield made


@asynccontextmanager
async def serving(bus: Bus) -> AsyncIterator[None]:
    """A node for the bus's agent, as long as the block runs."""
    async with node.running(bus.settings, embedder=bus.embedder):
        yield


@pytest.fixture
def switchable(monkeypatch: pytest.MonkeyPatch) -> list[Bus]:
    """From now on every engine call of an index asks the bus whether it is away."""
    buses: list[Bus] = []
    noted = EdgeIndex._noted

    @contextmanager
    def switched(self: EdgeIndex) -> Iterator[None]:
        with noted(self):
            if buses and buses[0].index_away:
                raise Unavailable("the index is away")
            yield

    monkeypatch.setattr(EdgeIndex, "_noted", switched)
    return buses
