"""An agent that asks too much is told how long to wait, and nobody else notices."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.engines.agents import Agent, Refused, agent
from tests.engines.system import afterwit_up
from tests.engines.waiting import wait_until


async def asks_on_and_on(agent: Agent) -> None:
    for _ in range(100):
        await agent.ask("pools")


async def test_over_quota(tmp_path: Path) -> None:
    quotas = {"AFTERWIT_QUOTA_REQUESTS_PER_S": "2", "AFTERWIT_QUOTA_ITEMS_PER_S": "4", "AFTERWIT_QUOTA_BURST_S": "5"}
    async with (
        afterwit_up(tmp_path, "greedy", "modest", variables=quotas) as system,
        agent(system, "greedy") as greedy,
        agent(system, "modest") as modest,
    ):
        with pytest.raises(Refused) as refused:
            await asks_on_and_on(greedy)
        assert refused.value.code == "quota"
        assert 0 < refused.value.detail["retry_after_s"] <= 1
        with pytest.raises(Refused) as refused:
            await greedy.tool("memory_retrieve", query="x")
        assert refused.value.code == "quota"
        await modest.ask("pools")
        await asyncio.sleep(refused.value.detail["retry_after_s"] + 0.01)  # as it was told
        await greedy.ask("pools")

        for n in range(40):
            item = json.dumps({"content": f"item {n}"}).encode()
            await greedy.nc.request("afterwit.v1.ingest.greedy.agent.greedy", item)
        own = json.dumps({"content": "one of mine"}).encode()
        await modest.nc.request("afterwit.v1.ingest.modest.agent.modest", own)

        async def count(of: str) -> int:
            try:
                pools = (await (modest if of == "modest" else greedy).ask("pools"))["pools"]
            except Refused:  # who looks this often asks too much as well
                return 0
            return int(pools[0]["counts"]["episodic"])

        await wait_until(lambda: count("modest"), description="the other's item is stored")
        assert await count("greedy") < 40

        async def all_there() -> bool:
            return await count("greedy") == 40

        await wait_until(all_there, description="all items are stored in the end")
