from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from nats.aio.client import Client

from afterwit.bus import names
from afterwit.bus.identity import PoolRegistry
from afterwit.bus.identity._bucket import MARKER_KEPT
from afterwit.schemas import Forbidden, Invalid, NotFound

TEAM = "shared/team"


async def test_who_makes_a_pool_owns_it(pools: PoolRegistry) -> None:
    await pools.create(TEAM, "ours", by="alice")
    record = await pools.get(TEAM)
    assert record is not None
    assert (record.description, record.created_by) == ("ours", "alice")
    assert {agent: grant.role for agent, grant in (await pools.grants_in(TEAM)).items()} == {"alice": "owner"}
    assert await pools.list() == {TEAM: record}


async def test_a_name_is_taken_once(pools: PoolRegistry) -> None:
    makers = ["alice", "bob", "carol", "dave"]
    results = await asyncio.gather(*(pools.create(TEAM, "", by=by) for by in makers), return_exceptions=True)
    refused = [result for result in results if isinstance(result, Invalid)]
    assert len(refused) == 3
    assert {error.message for error in refused} == {"pool: the name 'shared/team' is taken; choose another"}
    (owner,) = await pools.grants_in(TEAM)
    record = await pools.get(TEAM)
    assert record is not None
    assert record.created_by == owner
    with pytest.raises(Invalid, match="taken"):
        await pools.create(TEAM, "", by=owner)


async def test_a_pool_whose_making_was_cut_short_works_and_is_finished_by_its_owner(
    node: Client, pools: PoolRegistry
) -> None:
    await pools.create(TEAM, "", by="alice")
    await node.jetstream().purge_stream(
        names.kv_stream(names.POOLS), subject=names.kv_subject(names.POOLS, names.pool_key(TEAM))
    )
    assert await pools.get(TEAM) is None
    assert await pools.grant_of(TEAM, "alice") is not None
    with pytest.raises(Invalid, match="taken"):
        await pools.create(TEAM, "", by="bob")
    await pools.create(TEAM, "finished", by="alice")
    assert (await pools.list())[TEAM].description == "finished"


@pytest.mark.parametrize("replicas", [1, 3])
async def test_what_another_node_grants_and_revokes_is_seen_by_one_that_asked_before(
    node: Client, replicas: int
) -> None:
    """With replicas the stream's leader is asked, in other words."""
    elsewhere, pools = PoolRegistry(node), PoolRegistry(node, replicas=replicas)
    other = "shared/other"
    for pool in (TEAM, other):
        await elsewhere.create(pool, "", by="alice")
        await elsewhere.grant(pool, "bob", "reader", until=None, by="alice")

    async def seen() -> dict[str, str]:
        return {pool: grant.role for pool, grant in (await pools.grants_of("bob")).items()}

    first, unchanged = await seen(), await seen()
    await elsewhere.grant(TEAM, "bob", "writer", until=None, by="alice")
    promoted = await seen()
    await elsewhere.revoke(other, "bob", by="alice")
    left = await seen()
    await elsewhere.revoke(TEAM, "bob", by="alice")
    both = {TEAM: "reader", other: "reader"}
    assert (first, unchanged, promoted) == (both, both, {TEAM: "writer", other: "reader"})
    assert (left, await seen()) == ({TEAM: "writer"}, {})


async def test_a_revocation_whose_marker_is_gone_is_seen_by_one_that_asked_long_before(node: Client) -> None:
    """The newest grant that is left is then the one that was the newest before."""
    now = datetime(2026, 11, 30, tzinfo=UTC)
    elsewhere, pools = PoolRegistry(node), PoolRegistry(node, now=lambda: now)
    older, newer = TEAM, "shared/other"
    for pool in (older, newer):
        await elsewhere.create(pool, "", by="alice")
        await elsewhere.grant(pool, "bob", "reader", until=None, by="alice")
    assert sorted(await pools.grants_of("bob")) == [newer, older]
    await elsewhere.revoke(older, "bob", by="alice")
    marker = names.kv_subject(names.POOLS, names.grant_key(older, "bob"))
    await node.jetstream().purge_stream(names.kv_stream(names.POOLS), subject=marker)
    now += MARKER_KEPT
    assert list(await pools.grants_of("bob")) == [newer]


async def test_a_marker_outlives_what_is_believed_without_reading(node: Client, pools: PoolRegistry) -> None:
    await pools.create(TEAM, "", by="alice")
    await pools.grant(TEAM, "bob", "reader", until=None, by="alice")
    await pools.revoke(TEAM, "bob", by="alice")
    key = names.kv_subject(names.POOLS, names.grant_key(TEAM, "bob"))
    stored = await node.jetstream().get_last_msg(names.kv_stream(names.POOLS), key)
    assert stored.headers is not None
    assert stored.headers["Nats-TTL"] == f"{MARKER_KEPT.total_seconds():.0f}s"


async def test_a_grant_is_seen_at_once_and_gone_at_once(pools: PoolRegistry) -> None:
    await pools.create(TEAM, "", by="alice")
    await pools.grant(TEAM, "bob", "reader", until=None, by="alice")
    grant = await pools.grant_of(TEAM, "bob")
    assert grant is not None
    assert (grant.role, grant.granted_by) == ("reader", "alice")
    assert await pools.grants_of("bob") == {TEAM: grant}
    await pools.grant(TEAM, "bob", "writer", until=None, by="alice")
    assert (await pools.grants_of("bob"))[TEAM].role == "writer"
    await pools.revoke(TEAM, "bob", by="alice")
    assert await pools.grants_of("bob") == {}
    assert await pools.grant_of(TEAM, "bob") is None
    assert list(await pools.grants_in(TEAM)) == ["alice"]
    await pools.revoke(TEAM, "bob", by="alice")
    await pools.grant(TEAM, "bob", "reader", until=None, by="alice")
    assert sorted(await pools.grants_in(TEAM)) == ["alice", "bob"]


async def test_a_grant_lapses(node: Client) -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    pools = PoolRegistry(node, now=lambda: now)
    await pools.create(TEAM, "", by="alice")
    await pools.grant(TEAM, "bob", "owner", until=now + timedelta(hours=1), by="alice")
    assert sorted(await pools.grants_in(TEAM)) == ["alice", "bob"]
    now += timedelta(hours=1)
    assert list(await pools.grants_in(TEAM)) == ["alice"]
    assert await pools.grants_of("bob") == {}
    assert await pools.grant_of(TEAM, "bob") is None
    with pytest.raises(NotFound):
        await pools.grant(TEAM, "carol", "reader", until=None, by="bob")


async def test_a_pool_always_keeps_a_lasting_owner(pools: PoolRegistry) -> None:
    soon = datetime.now(UTC) + timedelta(days=1)
    await pools.create(TEAM, "", by="alice")
    await pools.grant(TEAM, "bob", "owner", until=soon, by="alice")
    for change in (
        pools.revoke(TEAM, "alice", by="bob"),
        pools.revoke(TEAM, "alice"),
        pools.grant(TEAM, "alice", "writer", until=None, by="bob"),
        pools.grant(TEAM, "alice", "owner", until=soon, by="alice"),
    ):
        with pytest.raises(Forbidden, match="make another agent its owner"):
            await change
    await pools.grant(TEAM, "bob", "owner", until=None, by="alice")
    await pools.revoke(TEAM, "alice", by="bob")
    assert list(await pools.grants_in(TEAM)) == ["bob"]


async def test_owners_who_throw_each_other_out_leave_one(pools: PoolRegistry) -> None:
    owners = ["alice", "bob", "carol", "dave"]
    for round_ in range(5):
        pool = f"{TEAM}{round_}"
        await pools.create(pool, "", by="alice")
        for owner in owners[1:]:
            await pools.grant(pool, owner, "owner", until=None, by="alice")
        attacks = [pools.revoke(pool, b, by=a) for a in owners for b in owners if a != b]
        await asyncio.gather(*attacks, return_exceptions=True)
        assert len(await pools.grants_in(pool)) >= 1


async def test_many_grants_at_once_all_arrive(pools: PoolRegistry) -> None:
    await pools.create(TEAM, "", by="alice")
    wanted = [f"a{number}" for number in range(8)]
    await asyncio.gather(*(pools.grant(TEAM, agent, "reader", until=None, by="alice") for agent in wanted))
    assert sorted(await pools.grants_in(TEAM)) == sorted([*wanted, "alice"])


async def test_who_is_not_an_owner_changes_nothing(pools: PoolRegistry) -> None:
    await pools.create(TEAM, "", by="alice")
    await pools.grant(TEAM, "bob", "writer", until=None, by="alice")
    with pytest.raises(Forbidden, match="you are a writer"):
        await pools.grant(TEAM, "carol", "reader", until=None, by="bob")
    with pytest.raises(Forbidden):
        await pools.revoke(TEAM, "alice", by="bob")
    await pools.revoke(TEAM, "bob", by="bob")  # whoever wants may leave
    assert list(await pools.grants_in(TEAM)) == ["alice"]


async def test_an_unknown_pool_and_one_that_is_not_yours_read_alike(pools: PoolRegistry) -> None:
    await pools.create(TEAM, "", by="alice")
    texts = set()
    for pool in (TEAM, "shared/none"):
        with pytest.raises(NotFound) as caught:
            await pools.grant(pool, "carol", "reader", until=None, by="mallory")
        texts.add(caught.value.message.replace(pool, "…"))
    assert len(texts) == 1


async def test_private_pools_are_not_in_the_registry(pools: PoolRegistry) -> None:
    with pytest.raises(Invalid, match="private"):
        await pools.create("agent/alice", "", by="alice")
    with pytest.raises(NotFound):
        await pools.grant("agent/alice", "bob", "reader", until=None, by="alice")
    assert await pools.grants_in("agent/alice") == {}
    assert await pools.grant_of("agent/alice", "alice") is None


async def test_an_agent_in_more_pools_than_one_answer_holds(node: Client, pools: PoolRegistry) -> None:
    wanted = {f"shared/p{number}" for number in range(1100)}
    for start in range(0, 1100, 100):
        some = sorted(wanted)[start : start + 100]
        await asyncio.gather(*(pools.create(pool, "", by="alice") for pool in some))
    assert (await pools.grants_of("alice")).keys() == wanted
