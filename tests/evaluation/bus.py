"""Evaluating the whole product: ingest over NATS as a service would, ask over MCP as an agent would."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

import nats
from nats.aio.client import Client

from afterwit.agents.memory_tools import MemoryTools, memory_tools
from afterwit.bus import ingest, names
from afterwit.schemas import Store
from tests.engines.system import System
from tests.engines.waiting import wait_until
from tests.evaluation.locomo import Conversation

_AT_ONCE = 64


async def ingest_conversation(system: System, agent: str, pool: str, conversation: Conversation) -> None:
    """Every turn as one memory with its date; returns when all can be found."""
    nc = await nats.connect(system.ready.nats, token=system.token(agent), inbox_prefix=names.inbox(agent).encode())
    try:
        await _publish_all(nc, agent, pool, conversation)
    finally:
        await nc.close()
    async with memory_tools(system.ready.mcp, system.token(agent)) as memory:
        await wait_until(
            lambda: _is_there(memory, pool, len(conversation.turns)),
            description=f"{len(conversation.turns)} turns of {conversation.id} can be found",
            timeout_s=300.0,
        )


async def rankings(
    system: System, agent: str, pool: str, questions: Sequence[str], *, now: datetime, top_k: int = 10
) -> list[list[str]]:
    """For every question the dialogue ids that `memory_retrieve` brings, best first."""
    async with memory_tools(system.ready.mcp, system.token(agent)) as memory:
        found = []
        for question in questions:
            items = await memory.retrieve(question, pools=[pool], top_k=top_k, now=now.isoformat())
            found.append([item["memory"]["data"]["turn"] for item in items])
        return found


async def _publish_all(nc: Client, agent: str, pool: str, conversation: Conversation) -> None:
    js = nc.jetstream()
    for start in range(0, len(conversation.turns), _AT_ONCE):
        requests = [
            Store(
                content=turn.text,
                data={"turn": turn.id},
                session_id=f"{conversation.id}-{turn.session}",
                turn=turn.number,
                occurred_at=turn.at,
                idempotency_key=turn.id,
            )
            for turn in conversation.turns[start : start + _AT_ONCE]
        ]
        await asyncio.gather(*(ingest.publish(js, agent, pool, request) for request in requests))


async def _is_there(memory: MemoryTools, pool: str, count: int) -> bool:
    resource = await memory.client.read_resource(f"memory://{pool}", cache_mode="bypass")
    return f'"active":{count},' in str(resource.contents[0])
