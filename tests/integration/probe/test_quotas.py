"""An agent that asks too much is told how long to wait, and nobody else notices."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.engines.agents import Agent, Refused, Reply, agent
from tests.engines.system import afterwit_up
from tests.engines.waiting import wait_until


async def refusal(ask: Callable[[], Awaitable[Reply]]) -> Refused:
    """What is said to who asks on and on, many times at once: on a slow machine one after the other may be in time."""
    while True:
        for answer in await asyncio.gather(*(ask() for _ in range(20)), return_exceptions=True):
            if isinstance(answer, Refused):
                return answer
            assert isinstance(answer, dict), answer


async def told_to_wait(agent: Agent) -> float:
    """How long, in seconds, with nothing else under way."""
    while True:
        await refusal(lambda: agent.ask("pools"))
        try:
            await agent.ask("pools")
        except Refused as e:
            return float(e.detail["retry_after_s"])


async def test_over_quota(tmp_path: Path) -> None:
    quotas = {"AFTERWIT_QUOTA_REQUESTS_PER_S": "2", "AFTERWIT_QUOTA_ITEMS_PER_S": "4", "AFTERWIT_QUOTA_BURST_S": "5"}
    async with (
        afterwit_up(tmp_path, "greedy", "modest", variables=quotas) as system,
        agent(system, "greedy") as greedy,
        agent(system, "modest") as modest,
    ):
        for ask in (
            lambda: greedy.ask("pools"),
            lambda: greedy.tool("memory_retrieve", query="x"),
        ):
            refused = await refusal(ask)
            assert refused.code == "quota"
            assert 0 < refused.detail["retry_after_s"] <= 1
        await modest.ask("pools")
        await asyncio.sleep(await told_to_wait(greedy) + 0.01)
        await greedy.ask("pools")

        for n in range(40):
            item = json.dumps({"content": f"item {n}"}).encode()
            await greedy.nc.request("afterwit.v1.ingest.greedy.agent.greedy", item, timeout=30)
        own = json.dumps({"content": "one of mine"}).encode()
        await modest.nc.request("afterwit.v1.ingest.modest.agent.modest", own, timeout=30)

        async def seqs(agent: Agent, count: int) -> list[int]:
            """Where its items stand in the log, once there are so many."""
            try:
                versions = (await agent.ask("list", pool=agent.pool))["versions"]
            except Refused:  # who looks this often asks too much as well
                return []
            return [version["memory"]["seq"] for version in versions] if len(versions) == count else []

        (others,) = await wait_until(lambda: seqs(modest, 1), description="the other's item is stored")
        all_of_them = await wait_until(lambda: seqs(greedy, 40), description="all are stored in the end")
        assert others < max(all_of_them), "who asked for little did not wait for who asked for much"
