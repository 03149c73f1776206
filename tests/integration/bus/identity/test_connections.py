from __future__ import annotations

import asyncio
import time
from functools import partial

import pytest
from nats.aio.client import Client

from afterwit.bus import names
from afterwit.bus.identity import Agents, PoolRegistry, digest, disconnect
from afterwit.bus.identity.connections import pool_tag, token_tag
from afterwit.schemas import Unavailable
from tests.engines.waiting import wait_until

from .conftest import Bus, Connecting, settled

# nats-py 2.16 forgets the sockets of attempts to reconnect that were refused.
pytestmark = pytest.mark.filterwarnings("ignore:.*StreamWriter.__del__:pytest.PytestUnraisableExceptionWarning")

TEAM = "shared/team"


async def test_what_was_revoked_is_gone_from_running_connections(
    node: Client, system: Client, agents: Agents, pools: PoolRegistry, connect_agent: Connecting
) -> None:
    token = await agents.add("alice")
    await pools.create(TEAM, "", by="bob")
    await pools.grant(TEAM, "alice", "reader", until=None, by="bob")
    connected = [await connect_agent(token, "alice") for _ in range(3)]
    bystander = await connect_agent(await agents.add("carol"), "carol")
    heard = [await agent.nc.subscribe(names.changes_of(TEAM)) for agent in connected]
    for agent in connected:
        await settled(agent.nc)
    await pools.revoke(TEAM, "alice", by="bob")
    began = time.perf_counter()
    assert await disconnect(system, "alice") == 3
    print(f"disconnect: {(time.perf_counter() - began) * 1e3:.1f} ms")
    await node.publish(names.changed(TEAM, "semantic", "1"), b"secret")
    await settled(node)
    for agent in connected:
        await wait_until(partial(getattr, agent, "reconnects"), description="the client comes back")
        refused = partial(agent.refusals, "permissions violation")
        await wait_until(refused, description="its old subscription is refused")
        await settled(agent.nc)
    assert [subscription.pending_msgs for subscription in heard] == [0, 0, 0]
    assert bystander.reconnects == 0
    assert bystander.errors == []


async def test_only_those_connections_end_that_a_tag_is_about(
    system: Client, agents: Agents, pools: PoolRegistry, connect_agent: Connecting
) -> None:
    """Else whoever owns a pool could cut off anybody, by letting it in and throwing it out."""
    token = await agents.add("alice")
    before = await connect_agent(token, "alice")
    await pools.create(TEAM, "", by="bob")
    await pools.grant(TEAM, "alice", "reader", until=None, by="bob")
    after = await connect_agent(token, "alice")
    await pools.revoke(TEAM, "alice", by="bob")
    assert await disconnect(system, "alice", tag=pool_tag("shared/tea")) == 0
    assert await disconnect(system, "alice", tag=pool_tag(TEAM)) == 1
    await wait_until(lambda: after.reconnects, description="the one that could hear the pool comes back")
    assert before.reconnects == 0
    assert await disconnect(system, "alice", tag=token_tag(digest(token))) == 2
    await wait_until(lambda: (before.reconnects, after.reconnects) == (1, 2), description="both come back")


async def test_a_revoked_agent_does_not_come_back(system: Client, agents: Agents, connect_agent: Connecting) -> None:
    alice = await connect_agent(await agents.add("alice"), "alice")
    await agents.revoke("alice")
    assert await disconnect(system, "alice") == 1
    await wait_until(lambda: alice.nc.is_reconnecting, description="the connection is gone")
    await wait_until(lambda: alice.refusals() >= 3, description="coming back is refused, again and again")
    assert alice.reconnects == 0


async def test_nobody_connected_is_nothing_to_end(system: Client, node: Client) -> None:
    assert await disconnect(system, "alice") == 0
    assert node.is_connected


async def test_a_part_of_the_same_name_stays(bus: Bus, system: Client) -> None:
    gateway = await bus.part("gateway", names.inbox("gateway"))
    try:
        assert await disconnect(system, "gateway") == 0
        await settled(gateway)
        assert gateway.is_connected
    finally:
        await gateway.close()


@pytest.fixture
def long_authentication(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who says nothing at first is not turned away for that."""
    monkeypatch.setattr("afterwit.deploy.engines.nats._AUTH_TIMEOUT_S", 60.0)


async def test_who_was_being_let_in_meanwhile_is_ended_as_well(
    long_authentication: None, bus: Bus, system: Client, agents: Agents, connect_agent: Connecting
) -> None:
    """A connection that has not said yet who it is, is waited for."""
    token = await agents.add("alice")
    reader, writer = await asyncio.open_connection("127.0.0.1", bus.server.port)
    try:
        assert (await reader.readline()).startswith(b"INFO")
        ending = asyncio.create_task(disconnect(system, "alice"))
        await wait_until(lambda: system.stats["in_msgs"] >= 2, description="it has looked once")
        assert not ending.done()
        writer.write(f'CONNECT {{"auth_token": "{token}", "verbose": false, "pedantic": false}}\r\nPING\r\n'.encode())
        assert await reader.readline() == b"PONG\r\n"
        assert await ending == 1
        assert b"PONG" not in await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


async def test_more_connections_than_one_answer_holds(
    bus: Bus, system: Client, agents: Agents, connect_agent: Connecting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("afterwit.bus.identity.connections._PAGE", 2)
    token = await agents.add("alice")
    for _ in range(5):
        await connect_agent(token, "alice")
    assert await disconnect(system, "alice") == 5


async def test_it_needs_the_system_account(node: Client) -> None:
    with pytest.raises(Unavailable, match="system account"):
        await disconnect(node, "alice")
