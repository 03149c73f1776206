"""Labels: what a task is not cleared for is not brought to it; what is asked for by name is answered (ADR 009)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engines.agents import Agent, Refused


async def test_a_label_keeps_a_memory_from_being_brought(alice: Agent, pool: str, unused: str) -> None:
    text = f"The {unused} clinic called about the results"
    memory = await alice.store(text, pool=pool, labels=["health"], tags=[f"{unused}-tag"], session_id=unused)
    id = memory["id"]

    async def found(**fields: Any) -> list[str]:
        return [each["id"] for each in await alice.retrieve(text, pools=[pool], **fields)]

    assert await found() == []
    assert await found(clearance=["finance"]) == []
    assert await found(clearance=["health"]) == [id]
    health = await alice.ask("health", pool=pool, newest=10, tags=10)
    assert (health["newest"], health["tags"]) == ([], [])
    assert (await alice.read(f"memory://{pool}"))["newest"] == []
    with pytest.raises(Refused, match="names 'clinic'"):
        await alice.ask("entity", pool=pool, name="clinic")
    assert unused not in str(await alice.mcp.get_prompt("recall", {"topic": "clinic", "pool": pool})).replace(pool, "")
    forgotten = await alice.ask("forget", where={"pools": [pool]}, reason="by filter")
    assert forgotten["count"] == 0

    assert (await alice.ask("get", id=id))["memory"]["content"] == text
    assert len((await alice.ask("history", id=id))["versions"]) == 1
    turns = (await alice.ask("context", session_id=unused))["turns"]
    assert [turn["id"] for turn in turns] == [id]


async def test_a_shared_copy_keeps_its_labels(alice: Agent, pool: str, unused: str) -> None:
    text = f"{unused} owes the bank"
    memory = await alice.store(text, labels=["finance"])
    copy = (await alice.ask("share", id=memory["id"], pool=pool))["memory"]
    assert copy["labels"] == ["finance"]
    assert await alice.retrieve(text, pools=[pool]) == []
    assert [m["id"] for m in await alice.retrieve(text, pools=[pool], clearance=["finance"])] == [copy["id"]]
    forgotten = await alice.ask("forget", where={"pools": [pool], "clearance": ["finance"]}, reason="cleared")
    assert forgotten["ids"] == [copy["id"]]
