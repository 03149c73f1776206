"""What an agent's NATS connection may do: exactly the contract's, on a real server."""

from __future__ import annotations

import asyncio
import contextlib
import time
from datetime import UTC, datetime, timedelta
from functools import partial

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error, NoRespondersError, NoServersError

from afterwit.bus import names
from afterwit.bus.connection import Credentials, connect
from afterwit.bus.identity import Agents, AuthCallout, PoolRegistry, disconnect, new_token, serve_callout
from afterwit.schemas import Unauthenticated
from tests.engines.waiting import wait_until

from .conftest import Agent, Bus, Connecting, settled

# nats-py 2.16 forgets the sockets of attempts to reconnect that were refused.
pytestmark = pytest.mark.filterwarnings("ignore:.*StreamWriter.__del__:pytest.PytestUnraisableExceptionWarning")


TEAM, OTHERS = "shared/team", "shared/others"

FIRST_S, MORE = 1, 4
"""How long something lasts during which an agent has to connect. If it does not come to that: so many times as long."""


@pytest.fixture
async def alice(agents: Agents, pools: PoolRegistry, connect_agent: Connecting) -> Agent:
    """A reader of `TEAM`; `OTHERS` is not hers."""
    token = await agents.add("alice")
    await pools.create(TEAM, "", by="bob")
    await pools.create(OTHERS, "", by="bob")
    await pools.grant(TEAM, "alice", "reader", until=None, by="bob")
    return await connect_agent(token, "alice")


async def served(node: Client) -> list[Msg]:
    """What arrives as requests; each is answered with its subject."""
    arrived: list[Msg] = []

    async def answer(msg: Msg) -> None:
        arrived.append(msg)
        if msg.reply:
            await msg.respond(msg.subject.encode())

    await node.subscribe(names.REQUESTS, queue="test", cb=answer)
    await settled(node)
    return arrived


async def test_an_agent_asks_in_its_own_name(node: Client, alice: Agent) -> None:
    await served(node)
    reply = await alice.nc.request(names.request("alice", "store"), b"{}", timeout=30)
    assert reply.data == b"afterwit.v1.req.alice.store"


async def test_an_unserved_request_fails_at_once(alice: Agent) -> None:
    with pytest.raises(NoRespondersError):
        await alice.nc.request(names.request("alice", "store"), b"{}", timeout=30)


async def test_an_agent_ingests_with_an_acknowledgement(node: Client, alice: Agent) -> None:
    acks = [await alice.nc.jetstream().publish(names.ingest("alice", TEAM), b"{}", timeout=30) for _ in range(2)]
    assert [(ack.stream, ack.seq) for ack in acks] == [(names.INGEST, 1), (names.INGEST, 2)]
    stored = await node.jetstream().get_msg(names.INGEST, 1)
    assert stored.subject == names.ingest("alice", TEAM)


@pytest.mark.parametrize(
    "subject",
    [
        "afterwit.v1.rejected.alice",
        "afterwit.v1.changed.agent.alice.>",
        "afterwit.v1.changed.shared.team.>",
        "afterwit.v1.changed.shared.team.semantic.*",
    ],
)
async def test_an_agent_hears_what_is_for_it(node: Client, alice: Agent, subject: str) -> None:
    heard = await alice.nc.subscribe(subject)
    await settled(alice.nc)
    sent = subject.replace(">", "semantic.1").replace("*", "1")
    await node.publish(sent, b"hello")
    msg = await heard.next_msg(timeout=30)
    assert (msg.subject, msg.data) == (sent, b"hello")
    assert alice.errors == []


@pytest.mark.parametrize("subject", [
    ">", "*", "_INBOX.>", "_INBOX_alice", "_INBOX_bob.>", "_INBOX_gateway.>", "_R_.>", "afterwit.>", "afterwit.v1.>",
    "afterwit.v1.req.alice.*", "afterwit.v1.req.*.*", "afterwit.v1.ingest.>", "afterwit.v1.rejected.*",
    "afterwit.v1.rejected.bob", "afterwit.v1.changed.>", "afterwit.v1.changed.shared.>",
    "afterwit.v1.changed.shared.*.>", "afterwit.v1.changed.shared.others.>", "afterwit.v1.changed.agent.bob.>",
    "afterwit.v1.log.>", "afterwit.v1.revoked.>", "$KV.>", "$JS.>", "$JS.API.>", "$SYS.>", "$SRV.>",
])  # fmt: skip
async def test_an_agent_hears_nothing_else(alice: Agent, subject: str) -> None:
    await alice.nc.subscribe(subject)
    await settled(alice.nc)
    await wait_until(lambda: alice.errors, description="the subscription is refused")
    assert "permissions violation for subscription" in alice.errors[0].lower()


@pytest.mark.parametrize("subject", [
    "afterwit.v1.req.bob.store", "afterwit.v1.req.alice.store.x", "afterwit.v1.req.alice",
    "afterwit.v1.ingest.bob.shared.team", "afterwit.v1.ingest.alice.shared.team.x",
    "afterwit.v1.log.shared.team.x", "afterwit.v1.changed.shared.team.semantic.x", "afterwit.v1.job.x",
    "afterwit.v1.dead.x", "afterwit.v1.usage.alice.x", "afterwit.v1.rejected.alice", "afterwit.v1.revoked.alice",
    "_INBOX_alice.x", "_INBOX_bob.x", "$KV.AFTERWIT_AGENTS.alice", "$KV.AFTERWIT_POOLS.grant.shared.team.alice",
    "$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.PURGE.AFTERWIT_LOG",
    "$JS.API.DIRECT.GET.AFTERWIT_LOG", "$JS.API.CONSUMER.CREATE.AFTERWIT_CHANGES", "$JS.ACK.x",
    "$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.AUTH", "$SYS.REQ.USER.INFO", "$SRV.PING", "_R_.x",
])  # fmt: skip
async def test_an_agent_says_nothing_else(alice: Agent, subject: str) -> None:
    await alice.nc.publish(subject, b"{}")
    await settled(alice.nc)
    await wait_until(lambda: alice.errors, description="the message is refused")
    assert "permissions violation for publish" in alice.errors[0].lower()


@pytest.mark.parametrize("target", [
    "afterwit.v1.log.shared.team.evil", "$JS.API.STREAM.PURGE.AFTERWIT_LOG", "$KV.AFTERWIT_POOLS.grant.shared.x.alice",
    "afterwit.v1.req.bob.forget", "afterwit.v1.ingest.bob.shared.team", "afterwit.v1.changed.shared.others.semantic.x",
])  # fmt: skip
async def test_nobody_answers_to_where_the_agent_may_not_speak(node: Client, alice: Agent, target: str) -> None:
    """A client chooses where it is answered; neither a node nor JetStream may be used to speak in its place."""
    arrived = await served(node)
    js = node.jetstream()
    await js.publish("afterwit.v1.log.shared.team.good", b"{}")
    heard = await node.subscribe(target)
    await settled(node)
    await alice.nc.publish(names.request("alice", "store"), b"{}", reply=target)
    await alice.nc.publish(names.ingest("alice", TEAM), b"{}", reply=target)
    await settled(alice.nc)
    await wait_until(lambda: arrived, description="the request arrives")
    await alice.nc.request(names.request("alice", "get"), b"", timeout=30)  # whatever came before has been answered
    await alice.nc.jetstream().publish(names.ingest("alice", TEAM), b"{}", timeout=30)
    await settled(node)
    assert heard.pending_msgs == 0
    assert [msg.subject for msg in arrived] == [names.request("alice", "store"), names.request("alice", "get")]
    assert (await js.stream_info(names.LOG)).state.messages == 1
    assert (await js.stream_info(names.INGEST)).state.messages == 2


async def test_a_grant_holds_for_the_next_connection(
    node: Client, agents: Agents, pools: PoolRegistry, connect_agent: Connecting
) -> None:
    token = await agents.add("alice")
    await pools.create(TEAM, "", by="bob")
    before = await connect_agent(token, "alice")
    await pools.grant(TEAM, "alice", "reader", until=None, by="bob")
    await before.nc.subscribe(names.changes_of(TEAM))
    await wait_until(lambda: before.errors, description="the running connection is refused")
    after = await connect_agent(token, "alice")
    heard = await after.nc.subscribe(names.changes_of(TEAM))
    await settled(after.nc)
    assert after.errors == []
    await node.publish(names.changed(TEAM, "semantic", "1"), b"hello")
    assert (await heard.next_msg(timeout=30)).data == b"hello"


@pytest.mark.parametrize("kind", ["none", "junk", "unknown", "revoked", "of another"])
async def test_without_a_good_token_nobody_comes_in(
    bus: Bus, agents: Agents, connect_agent: Connecting, kind: str
) -> None:
    alice, bob = await agents.add("alice"), await agents.add("bob")
    await agents.revoke("bob")
    token = {"none": "", "junk": "x", "unknown": new_token("carol"), "revoked": bob,
             "of another": "aw.bob." + alice[-64:]}[kind]  # fmt: skip
    with pytest.raises(Unauthenticated):
        await connect(bus.server.url, name="x", credentials=Credentials(token=token))


@pytest.mark.parametrize("user", ["node", "gateway", "admin", "callout", "sys"])
async def test_parts_need_their_password(bus: Bus, callout: None, user: str) -> None:
    for password in ("", "wrong", bus.credentials.sys.password if user != "sys" else "x"):
        with pytest.raises(Unauthenticated):
            await connect(bus.server.url, name="x", credentials=Credentials(user=user, password=password))


async def test_a_connection_ends_when_a_grant_lapses_and_comes_back_without_it(
    agents: Agents, pools: PoolRegistry, connect_agent: Connecting
) -> None:
    token = await agents.add("alice")
    lasts_s = FIRST_S
    while True:
        pool = f"{TEAM}{lasts_s}"
        await pools.create(pool, "", by="bob")
        until = datetime.now(UTC) + timedelta(seconds=lasts_s)
        await pools.grant(pool, "alice", "reader", until=until, by="bob")
        alice = await connect_agent(token, "alice")
        await alice.nc.subscribe(names.changes_of(pool))
        await settled(alice.nc)
        if datetime.now(UTC) < until:
            break
        lasts_s *= MORE
    assert alice.errors == []
    await wait_until(lambda: alice.reconnects, description="the connection ends and comes back")
    await wait_until(lambda: alice.refusals("permissions violation"), description="the lapsed pool is refused")
    assert datetime.now(UTC) >= until
    assert alice.reconnects == 1


async def test_a_grant_until_the_last_of_days_lets_in(
    agents: Agents, pools: PoolRegistry, connect_agent: Connecting
) -> None:
    """Whoever owns a pool must not be able to keep others from the bus by what they grant them."""
    token = await agents.add("alice")
    await pools.create(TEAM, "", by="bob")
    await pools.grant(TEAM, "alice", "reader", until=datetime.max.replace(tzinfo=UTC), by="bob")
    alice = await connect_agent(token, "alice")
    await alice.nc.subscribe(names.changes_of(TEAM))
    await settled(alice.nc)
    assert alice.errors == []


async def test_a_connection_ends_with_its_token(agents: Agents, connect_agent: Connecting) -> None:
    grace_s = FIRST_S
    while True:
        agent = f"alice{grace_s}"
        first = await agents.add(agent)
        second = await agents.rotate(agent, grace_s=grace_s)
        with contextlib.suppress(NoServersError):  # it was refused: its time was over
            old = await connect_agent(first, agent)
            break
        grace_s *= MORE
    new = await connect_agent(second, agent)
    await wait_until(lambda: old.refusals() >= 2, description="the old token is refused")
    assert old.reconnects == 0
    assert new.reconnects == 0


async def test_a_connection_that_began_before_a_rotation_ends_with_the_old_token(
    agents: Agents, callout: AuthCallout, connect_agent: Connecting
) -> None:
    grace_s = FIRST_S
    while True:
        agent = f"alice{grace_s}"
        old = await connect_agent(await agents.add(agent), agent)
        until = datetime.now(UTC) + timedelta(seconds=grace_s)
        new = await connect_agent(await agents.rotate(agent, grace_s=grace_s), agent)
        await callout.look_again(agent)
        await callout.look_again("nobody")
        stayed = old.nc.is_connected
        if datetime.now(UTC) < until:
            break
        grace_s *= MORE
    assert stayed
    await wait_until(lambda: old.refusals() >= 2, description="the old token is refused")
    assert new.reconnects == 0


async def test_a_good_token_that_nobody_judges_in_time_is_not_called_a_bad_one(
    bus: Bus, agents: Agents, pools: PoolRegistry
) -> None:
    """The server refuses it, for want of an answer; a moment later there is somebody who knows it."""
    credentials = Credentials(token=await agents.add("alice"))
    inbox = names.inbox("alice")
    connecting = asyncio.create_task(
        connect(bus.server.url, name="x", credentials=credentials, inbox_prefix=inbox, timeout_s=60)
    )
    await wait_until(lambda: "authentication error" in bus.server.log, description="it is refused once")
    assert not connecting.done()
    async with serve_callout(bus.server.url, bus.secrets / "callout.json", agents, pools):
        await (await connecting).close()


async def test_a_node_that_comes_later_ends_what_has_outlived_its_token(
    bus: Bus, agents: Agents, pools: PoolRegistry, system: Client, connect_agent: Connecting
) -> None:
    old = await connect_agent(await agents.add("alice"), "alice")
    new = await connect_agent(await agents.rotate("alice", grace_s=0), "alice")
    await settled(old.nc)  # nobody has been told
    end = partial(disconnect, system)
    async with serve_callout(bus.server.url, bus.secrets / "callout.json", agents, pools, disconnect=end):
        await wait_until(lambda: old.refusals() >= 2, description="the old token is refused")
    assert new.reconnects == 0


async def test_who_cannot_end_connections_lets_in_for_a_while_only(
    bus: Bus, agents: Agents, pools: PoolRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("afterwit.bus.identity.callout._UNENDABLE_S", 1.0)
    token = await agents.add("alice")
    ended = asyncio.Event()

    async def on_disconnect() -> None:
        ended.set()

    async with serve_callout(bus.server.url, bus.secrets / "callout.json", agents, pools):
        nc = await nats.connect(
            bus.server.url, token=token, inbox_prefix=names.inbox("alice"), disconnected_cb=on_disconnect
        )
        try:
            await asyncio.wait_for(ended.wait(), 30)
        finally:
            await nc.close()


async def test_the_gateway_may_do_its_work_and_no_more(bus: Bus, node: Client, agents: Agents) -> None:
    arrived = await served(node)
    token = await agents.add("alice")
    refused: list[str] = []

    async def on_error(error: Exception) -> None:
        refused.append(str(error))

    gateway = await nats.connect(
        bus.server.url,
        user="gateway",
        password=bus.credentials.gateway.password,
        inbox_prefix=names.inbox("gateway"),
        error_cb=on_error,
    )
    try:
        assert await Agents(gateway).verify(token) == "alice"
        assert await PoolRegistry(gateway).grants_of("alice") == {}
        await gateway.request(names.request("alice", "get"), b"", timeout=30)
        heard = [await gateway.subscribe(s) for s in (names.CHANGED_SUBJECTS, names.REVOKED_SUBJECTS)]
        await settled(gateway)
        await node.publish(names.changed(TEAM, "semantic", "1"), b"hello")
        assert (await heard[0].next_msg(timeout=30)).data == b"hello"
        asked = asyncio.create_task(node.request(names.revoked("alice"), b"", timeout=30))
        await (await heard[1].next_msg(timeout=30)).respond(b"done")
        assert (await asked).data == b"done"
        assert refused == []
        for subject in ("afterwit.v1.log.a.b.c", "$KV.AFTERWIT_AGENTS.alice", "$JS.API.STREAM.NAMES",
                        "$JS.API.DIRECT.GET.AFTERWIT_LOG", "_INBOX.x", "afterwit.v1.changed.a.b.c.d"):  # fmt: skip
            refused.clear()
            await gateway.publish(subject, b"")
            await settled(gateway)
            await wait_until(lambda: refused, description=f"{subject} is refused")
        assert len(arrived) == 1
    finally:
        await gateway.close()


async def test_the_operator_may_add_agents_and_make_pools(bus: Bus, node: Client, agents: Agents) -> None:
    admin = await bus.part("admin")
    try:
        token = await Agents(admin).add("alice")
        assert await agents.verify(token) == "alice"
        await Agents(admin).rotate("alice")
        pools = PoolRegistry(admin)
        await pools.create(TEAM, "", by="alice")
        await pools.grant(TEAM, "bob", "reader", until=None, by="alice")
        await pools.revoke(TEAM, "bob")
        assert [record.name for record in await Agents(admin).list()] == ["alice"]
    finally:
        await admin.close()


async def test_many_agents_come_in_at_once(agents: Agents, connect_agent: Connecting) -> None:
    tokens = {name: await agents.add(name) for name in (f"a{number}" for number in range(50))}
    began, cpu = time.perf_counter(), time.process_time()
    connected = await asyncio.gather(*(connect_agent(token, name) for name, token in tokens.items()))
    print(f"50 agents: {time.perf_counter() - began:.3f} s, {(time.process_time() - cpu) / 50 * 1e3:.2f} ms CPU each")
    assert all(agent.nc.is_connected for agent in connected)


async def test_agents_come_back_after_the_server_was_killed(bus: Bus, node: Client, alice: Agent) -> None:
    await served(node)
    await asyncio.to_thread(bus.server.kill)
    await asyncio.to_thread(bus.server.start)

    async def answered() -> bool:
        try:
            return bool((await alice.nc.request(names.request("alice", "get"), b"", timeout=2)).data)
        except Error:
            return False

    await wait_until(answered, description="the agent is back and is served")
