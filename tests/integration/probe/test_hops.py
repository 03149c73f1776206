"""Hops do not lead through what the one who asks may not read."""

from __future__ import annotations

from tests.engines.agents import Agent


async def test_a_path_through_anothers_private_pool_is_none(alice: Agent, bob: Agent, pool: str, unused: str) -> None:
    await alice.ask("pool_grant", pool=pool, agent="bob", role="reader")
    start = await alice.store(f"{unused}: the relay is down", pool=pool, entities=[f"Kite {unused}"])
    private = await alice.store(
        "I pulled the plug", caused_by=[start["id"]], entities=[f"Kite {unused}", f"Sole {unused}"]
    )
    behind = await alice.store(
        "A new plug was ordered", pool=pool, caused_by=[private["id"]], entities=[f"Sole {unused}"]
    )
    asked = {"query": f"{unused} relay", "top_k": 10, "hops": 2}
    through = await alice.ask("retrieve", **asked, pools=[pool, alice.pool])
    told = {item["memory"]["id"]: item for item in through["items"]}
    assert private["id"] in told
    assert private["id"] in told[behind["id"]]["why"]
    for pools in ([], [pool]):
        kept = await bob.ask("retrieve", **asked, pools=pools)
        item = next(item for item in kept["items"] if item["memory"]["id"] == behind["id"])
        assert "hops" not in item["signals"]
        assert "reached" not in item["why"]
        assert private["id"] not in item["why"]
