"""Who sees what: private pools, shared pools, grants, sharing."""

from __future__ import annotations

import uuid

import pytest

from tests.engines.agents import Agent, Refused
from tests.engines.waiting import wait_until


async def test_a_private_pool_is_its_agents_alone(alice: Agent, bob: Agent) -> None:
    """Nobody else finds or reads what is in it, or learns that it is there."""
    secret = await alice.store("The surprise party is on Friday.")
    assert secret["id"] not in [memory["id"] for memory in await bob.retrieve("When is the surprise party?", top_k=50)]
    with pytest.raises(Refused) as hidden:
        await bob.ask("get", uri=secret["uri"])
    with pytest.raises(Refused) as absent:
        await bob.ask("get", uri=f"memory://agent/alice/{uuid.uuid4()}")
    assert hidden.value.code == absent.value.code == "not_found"


async def test_who_makes_a_shared_pool_owns_it(alice: Agent, unused: str) -> None:
    """Its name is the address under which others find it, once they are let in."""
    await alice.ask("pool_create", pool=f"shared/{unused}", description="What the night shift should know.")
    mine = {pool["pool"]: pool for pool in (await alice.ask("pools"))["pools"]}
    assert mine[f"shared/{unused}"]["role"] == "owner"
    assert mine[f"shared/{unused}"]["description"] == "What the night shift should know."


async def test_a_pool_without_a_grant_is_not_there(bob: Agent, pool: str) -> None:
    """A pool that one may not read, and one that does not exist, answer alike."""
    with pytest.raises(Refused) as hidden:
        await bob.store("Hello?", pool=pool)
    with pytest.raises(Refused) as absent:
        await bob.store("Hello?", pool="shared/does-not-exist")
    assert hidden.value.code == absent.value.code == "not_found"
    assert hidden.value.message.replace(pool, "") == absent.value.message.replace("shared/does-not-exist", "")


async def test_a_reader_reads_and_does_not_write(alice: Agent, bob: Agent, pool: str) -> None:
    """Roles are reader, writer and owner."""
    await alice.ask("pool_grant", pool=pool, agent="bob", role="reader")
    known = await alice.store("The key is under the mat.", pool=pool)
    assert await bob.retrieve("Where is the key?", pools=[pool]) == [known]
    with pytest.raises(Refused) as refused:
        await bob.store("The key is gone.", pool=pool)
    assert refused.value.code == "forbidden"


async def test_a_writer_writes_and_lets_nobody_in(alice: Agent, bob: Agent, pool: str) -> None:
    """Only owners decide about others."""
    await alice.ask("pool_grant", pool=pool, agent="bob", role="writer")
    memory = await bob.store("I took the key.", pool=pool)
    assert memory["author"] == "bob"
    with pytest.raises(Refused) as refused:
        await bob.ask("pool_grant", pool=pool, agent="carol", role="reader")
    assert refused.value.code == "forbidden"


async def test_a_revocation_holds_at_once(alice: Agent, bob: Agent, pool: str) -> None:
    """When `pool_revoke` has answered, nothing of the pool reaches the agent any more."""
    await alice.ask("pool_grant", pool=pool, agent="bob", role="reader")
    memory = await alice.store("The code is 4711.", pool=pool)
    assert await bob.retrieve("What is the code?", pools=[pool])
    await alice.ask("pool_revoke", pool=pool, agent="bob")
    with pytest.raises(Refused) as refused:
        await bob.tool("memory_retrieve", query="What is the code?", pools=[pool])
    assert refused.value.code == "not_found"
    assert memory["id"] not in [found["id"] for found in await bob.retrieve("What is the code?", top_k=50)]


async def test_without_a_pool_a_search_looks_everywhere_that_one_may_read(alice: Agent, bob: Agent, pool: str) -> None:
    """The private pool and all shared ones."""
    await alice.ask("pool_grant", pool=pool, agent="bob", role="writer")
    shared = await bob.store("Quarterly zither recital in room 12.", pool=pool)
    private = await bob.store("I have to practise for the zither recital.")
    found = {memory["id"] for memory in await bob.retrieve("zither recital")}
    assert {shared["id"], private["id"]} <= found


async def test_sharing_copies_a_memory_to_where_others_see_it(alice: Agent, pool: str) -> None:
    """The copy says who wrote it first, and is linked to the original."""
    note = await alice.store("Restarting the proxy clears the error.", source="user")
    copy = (await alice.tool("memory_share", id=note["id"], pool=pool))["memory"]
    assert (copy["pool"], copy["author"], copy["source"]) == (pool, "alice", "user")
    assert [(link["rel"], link["target"]) for link in copy["links"]] == [("derived_from", note["id"])]
    assert (await alice.tool("memory_share", id=note["id"], pool=pool))["memory"] == copy


async def test_a_pool_tells_how_it_is_doing(alice: Agent, pool: str) -> None:
    """Counts and health, as an operation and as a resource."""
    memory = await alice.store("All berths are taken.", pool=pool)
    await alice.store("Berth 7 is free again.", pool=pool)
    await alice.tool("memory_forget", ids=[memory["id"]], reason="no longer so")
    health = await alice.ask("health", pool=pool)
    assert (health["active"], health["archived_share"]) == (1, 0.5)
    assert (await alice.read(f"memory://{pool}"))["counts"]["episodic"] == 1


async def test_an_owner_says_how_long_a_pool_is_kept(alice: Agent, bob: Agent, pool: str) -> None:
    """In days, for each tier; then memories are archived, and never purged unasked."""
    await alice.ask("pool_grant", pool=pool, agent="bob", role="writer")
    with pytest.raises(Refused, match="owner"):
        await bob.ask("pool_set", pool=pool, retention_days={"episodic": 1})
    await alice.ask("pool_set", pool=pool, retention_days={"episodic": 90})
    (info,) = [info for info in (await bob.ask("pools"))["pools"] if info["pool"] == pool]
    assert info["retention_days"]["episodic"] == 90


async def test_who_reads_a_pool_that_does_badly_is_told(alice: Agent, pool: str) -> None:
    """By a word in `hints`; of a pool that does well there is none."""
    for number in range(10):
        await alice.store(f"Locker {number} belongs to crew {number + 20}.", pool=pool)
    for code in ("4417", "9020"):
        fact = {"subject": f"gate of {pool}", "predicate": "code", "object": code}
        await alice.store(f"The gate's code is {code}.", pool=pool, kind="fact", fact=fact)

    async def told() -> list[str]:
        reply = await alice.ask("retrieve", query="To which crew does locker 7 belong?", pools=[pool])
        return list(reply.get("hints", ()))

    (hint,) = await wait_until(told, description="it is told")
    assert hint.startswith(f"{pool}: 2 of 12 memories are disputed")
