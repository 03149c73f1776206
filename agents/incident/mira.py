"""Mira, on call for the checkout service. She works in English."""

from __future__ import annotations

import asyncio
from typing import Any

from ..memory_tools import MemoryTools
from .board import add_to_board, read_board
from .cues import WATCHES_FOR_S, play

SESSION = "incident-4711"


async def take_notes(memory: MemoryTools, cue: dict[str, Any]) -> dict[str, Any]:
    """A private note, and what she tried, as events of one session."""
    note = await memory.store(
        "My own note: if this lasts past noon, call Jonas before his flight leaves.", importance=0.8
    )
    alert = await memory.store(
        "Alert: checkout p99 latency is 4.1 s since 09:12, budget is 0.8 s.",
        kind="user_input", session_id=SESSION, turn=1, source="tool", importance=0.9,
    )  # fmt: skip
    call = await memory.store(
        "Ask the metrics: checkout, connections in use, 09:00 to 09:30.",
        kind="tool_call", session_id=SESSION, turn=2, caused_by=[alert["id"]],
    )  # fmt: skip
    result = await memory.store(
        "Metrics: 50 of 50 database connections in use from 09:12 on.",
        kind="tool_result", session_id=SESSION, turn=3, caused_by=[call["id"]], source="tool",
        data={"connections": {"used": 50, "limit": 50}, "since": "09:12"},
    )  # fmt: skip
    context = await memory.call("memory_context", session_id=SESSION)
    links = [link["weight"] for link in result["links"]]
    return {"said": note["content"], "note": note["id"], "turns": [t["turn"] for t in context["turns"]], "cause": links}


async def report(memory: MemoryTools, cue: dict[str, Any]) -> dict[str, Any]:
    """Tell the pool what is known, and open the board."""
    await memory.store(
        "Status board, incident 4711: investigating.", pool=cue["pool"], tier="semantic", tags=["board"], pinned=True
    )
    finding = await memory.store(
        "Checkout is slow because ledger-db has no free connections: "
        "all 50 are in use since release 2.8.1 went out at 09:12.",
        pool=cue["pool"], kind="fact", tier="semantic", source="tool", entities=["checkout", "ledger-db"],
        idempotency_key="finding-4711",
    )  # fmt: skip
    return {"said": finding["content"], "id": finding["id"]}


async def await_help(memory: MemoryTools, cue: dict[str, Any]) -> dict[str, Any]:
    """Wait for the pool to change, then ask what to do."""
    pool_uri = f"memory://{cue['pool']}"
    async with memory.client.listen(resource_subscriptions=[pool_uri]) as events:
        print('{"watching": true}', flush=True)
        async with asyncio.timeout(WATCHES_FOR_S):
            async for _ in events:
                items = await memory.retrieve(
                    "How do we fix the exhausted connections?", pools=[cue["pool"]], tier="semantic", top_k=3
                )
                lesson = next((i for i in items if i["memory"]["author"] == "lin"), None)
                if lesson:
                    return {"said": lesson["memory"]["content"], "why": lesson["why"], "author": "lin"}
    raise RuntimeError("nobody helped")


async def update_board(memory: MemoryTools, cue: dict[str, Any]) -> dict[str, Any]:
    """Her line on the board."""
    return await add_to_board(memory, cue["pool"], "09:41 mira: rolled back to 2.8.0, latency is falling.")


async def look_for_others_notes(memory: MemoryTools, cue: dict[str, Any]) -> dict[str, Any]:
    """Everything she can find about what Lin keeps to himself."""
    items = await memory.retrieve("密码什么时候轮换", top_k=10)
    return {"authors": sorted({i["memory"]["pool"] for i in items})}


if __name__ == "__main__":
    play({
        "take_notes": take_notes,
        "report": report,
        "await_help": await_help,
        "read_board": read_board,
        "update_board": update_board,
        "look_for_others_notes": look_for_others_notes,
    })  # fmt: skip
