"""Operations on a pool, tried by an agent that has no grant, one that may read, write, or owns it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import nats.errors
import pytest
from mcp.shared.subscriptions import ResourceUpdated

from afterwit.schemas import OPERATIONS
from tests.engines.agents import Agent, Refused, Reply, plain_nats
from tests.engines.system import System
from tests.engines.waiting import wait_until


def attempts(pool: str, memory: Reply) -> dict[str, tuple[dict[str, Any], str]]:
    """What to try with a pool and a memory in it, and the least role that may."""
    id = memory["id"]
    every = {
        "store": ({"content": "x", "pool": pool}, "writer"),
        "get": ({"id": id}, "reader"),
        "history": ({"id": id}, "reader"),
        "retrieve": ({"query": "x", "pools": [pool]}, "reader"),
        "changes": ({"pools": [pool]}, "reader"),
        "health": ({"pool": pool}, "reader"),
        "update": ({"id": id, "expected_version": memory["version"], "tags": ["touched"]}, "writer"),
        "share": ({"id": id, "pool": "agent/bob"}, "reader"),
        "link": ({"source": id, "rel": "supports"}, "writer"),
        "forget": ({"ids": [id], "reason": "x"}, "writer"),
        "pool_grant": ({"pool": pool, "agent": "carol", "role": "reader"}, "owner"),
        "pool_revoke": ({"pool": pool, "agent": "carol"}, "owner"),
        "trace": ({"id": id}, "reader"),
    }
    return {op: attempt for op, attempt in every.items() if op in OPERATIONS}


RANK: dict[str | None, int] = {None: -1, "reader": 0, "writer": 1, "owner": 2}


@pytest.mark.parametrize("role", [None, "reader", "writer", "owner"])
async def test_every_operation_wants_its_role(alice: Agent, bob: Agent, pool: str, role: str | None) -> None:
    memory = await alice.store("What is in the pool.", pool=pool)
    if role is not None:
        await alice.ask("pool_grant", pool=pool, agent="bob", role=role)
    tried = attempts(pool, memory)
    for op, (request, least) in tried.items():
        if op == "link":  # to something that is there for bob in any case
            request["target"] = (await bob.store("A target."))["id"]
        if RANK[role] >= RANK[least]:
            await bob.ask(op, **request)
        else:
            with pytest.raises(Refused) as refused:
                await bob.ask(op, **request)
            assert refused.value.code == ("not_found" if role is None else "forbidden"), op
            assert "What is in the pool" not in str(refused.value.detail) + refused.value.message


async def test_store_many_asks_for_each_pool(alice: Agent, bob: Agent, pool: str) -> None:
    await alice.ask("pool_grant", pool=pool, agent="bob", role="reader")
    items = [{"content": "mine"}, {"content": "yours", "pool": pool}, {"content": "his", "pool": "agent/carol"}]
    results = (await bob.ask("store_many", items=items))["results"]
    assert results[0]["created"]
    assert [result["error"]["code"] for result in results[1:]] == ["forbidden", "not_found"]


@pytest.mark.parametrize("suffix", ["", "/{id}", "/{id}/history", "/session/s"])
async def test_a_private_pool_cannot_be_read_as_a_resource(alice: Agent, bob: Agent, suffix: str) -> None:
    memory = await alice.store("Private.", session_id="s")
    uri = "memory://agent/alice" + suffix.format(id=memory["id"])
    await alice.read(uri)
    with pytest.raises(Exception, match="resource not found") as hidden:
        await bob.read(uri)
    with pytest.raises(Exception, match="resource not found") as absent:
        await bob.read(uri.replace("alice", "nobody"))
    assert str(hidden.value).replace("alice", "nobody") == str(absent.value)


async def test_a_copy_does_not_lead_to_the_original(alice: Agent, bob: Agent, pool: str) -> None:
    await alice.ask("pool_grant", pool=pool, agent="bob", role="reader")
    original = await alice.store("The long version, with names.", session_id="secret", turn=1)
    copy = (await alice.tool("memory_share", id=original["id"], pool=pool))["memory"]
    seen = (await bob.ask("get", id=copy["id"]))["memory"]
    assert seen.get("session_id") is None
    with pytest.raises(Refused) as refused:
        await bob.ask("get", id=original["id"])
    assert refused.value.code == "not_found"


async def test_forgetting_everything_is_about_what_one_may_write(
    alice: Agent, bob: Agent, pool: str, unused: str
) -> None:
    await alice.ask("pool_grant", pool=pool, agent="bob", role="reader")
    kept = await alice.store("Not bob's to forget.", pool=pool, tags=[unused])
    mine = await bob.store("Bob's own.", tags=[unused])
    reply = await bob.tool("memory_forget", where={"tags": [unused]}, reason="tidying up")
    assert reply["ids"] == [mine["id"]]
    with pytest.raises(Refused) as refused:
        await bob.tool("memory_forget", where={"pools": [pool]}, reason="tidying up")
    assert refused.value.code == "forbidden"
    assert (await alice.ask("get", id=kept["id"]))["memory"]["status"] == "active"


async def test_a_cascade_ends_where_one_may_only_read(alice: Agent, bob: Agent, pool: str) -> None:
    original = await bob.store("Bob's own.")
    await alice.ask("pool_grant", pool=pool, agent="bob", role="writer")
    copy = (await bob.tool("memory_share", id=original["id"], pool=pool))["memory"]
    await alice.ask("pool_grant", pool=pool, agent="bob", role="reader")
    reply = await bob.tool("memory_forget", ids=[original["id"]], reason="x", cascade=True)
    assert (reply["ids"], reply["remaining"]) == ([original["id"]], [copy["id"]])


async def test_who_leaves_is_answered_and_hears_no_more(alice: Agent, afterwit: System, pool: str) -> None:
    """Though its own connection ends with it."""
    await alice.ask("pool_grant", pool=pool, agent="bob", role="reader")
    bob = await plain_nats(afterwit, "bob")
    try:
        before = bob.stats["reconnects"]
        leaving = json.dumps({"pool": pool, "agent": "bob"}).encode()
        answer = await bob.request("afterwit.v1.req.bob.pool_revoke", leaving, timeout=30)
        assert json.loads(answer.data) == {"pool": pool}
        await wait_until(lambda: bob.stats["reconnects"] > before and bob.is_connected, description="bob is back")
        again = await bob.request("afterwit.v1.req.bob.pool_revoke", leaving, timeout=30)
        assert json.loads(again.data)["error"]["code"] == "not_found"
    finally:
        await bob.close()
    with pytest.raises(Refused, match="last owner"):
        await alice.ask("pool_revoke", pool=pool, agent="alice")


async def test_a_revoked_agent_hears_no_more(alice: Agent, afterwit: System, pool: str) -> None:
    """Its NATS connection ends before the answer; when it comes back, the pool's notices are not for it."""
    await alice.ask("pool_grant", pool=pool, agent="bob", role="reader")
    bob = await plain_nats(afterwit, "bob")  # a grant reaches a connection when it is made
    try:
        notices = await bob.subscribe(f"afterwit.v1.changed.{pool.replace('/', '.')}.>")
        await bob.flush()
        await alice.store("For bob.", pool=pool)
        await notices.next_msg(timeout=30)
        before = bob.stats["reconnects"]
        await alice.ask("pool_revoke", pool=pool, agent="bob")
        await wait_until(lambda: bob.stats["reconnects"] > before and bob.is_connected, description="bob is back")
        await bob.flush()
        await alice.store("Not for bob.", pool=pool)
        with pytest.raises(nats.errors.TimeoutError):
            await notices.next_msg(timeout=0.3)
    finally:
        await bob.close()


async def test_a_revoked_agent_is_told_nothing_over_mcp(alice: Agent, bob: Agent, pool: str, unused: str) -> None:
    """Two pools are watched; of the one that was taken away nothing comes, of the other one it does."""
    other = f"shared/{unused}-other"
    await alice.ask("pool_create", pool=other)
    for name in (pool, other):
        await alice.ask("pool_grant", pool=name, agent="bob", role="reader")
    await alice.ask("pool_revoke", pool=pool, agent="bob")
    with pytest.raises(Exception, match="resource not found"):
        async with bob.mcp.listen(resource_subscriptions=[f"memory://{pool}"]):
            pass
    async with bob.mcp.listen(resource_subscriptions=[f"memory://{other}"]) as events:
        await alice.store("For bob.", pool=other)
        async with asyncio.timeout(30):
            assert await anext(aiter(events)) == ResourceUpdated(f"memory://{other}")
