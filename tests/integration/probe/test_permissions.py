"""G6: two owners hide things, an intruder asks every question there is, through every door, and learns nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import httpx2
import pytest
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import PromptReference, ResourceTemplateReference

from afterwit.bus.mcp.prompts import PROMPTS
from afterwit.bus.mcp.resources import TEMPLATES
from afterwit.schemas import OPERATIONS
from tests.engines.waiting import wait_until
from tests.unit.bus.mcp.test_watching import old_protocol

from .cases import Own, completions, prompts, resources
from .conftest import TOOL_OF, World
from .doors import Door, McpDoor, Visitor, forbidden_questions
from .probe import Probe, plain
from .random_requests import random_requests
from .world import Things, ghost, stir

SEED = 7
RANDOM_REQUESTS = 25
REFERENCES: list[PromptReference | ResourceTemplateReference] = [
    *(PromptReference(type="ref/prompt", name=prompt.name) for prompt in PROMPTS),
    *(ResourceTemplateReference(type="ref/resource", uri=template.uri_template) for template in TEMPLATES),
]

pytestmark = pytest.mark.filterwarnings("ignore:.*StreamWriter.__del__:pytest.PytestUnraisableExceptionWarning")


def doors_of(one: Visitor) -> list[Door]:
    return [*one.nats, *one.mcp]


def ops_of(door: Door) -> list[str]:
    """The operations that a door leads to. Those that nobody serves are asked for as well."""
    return [op for op in OPERATIONS if not isinstance(door, McpDoor) or op in TOOL_OF]


def nothing_found(probe: Probe) -> None:
    shown = "\n".join(f"- {leak.what} in {leak.where[:300]}: {leak.excerpt[:2000]}" for leak in probe.found[:10])
    assert not probe.found, f"{len(probe.found)} leaks in {probe.asked} answers:\n{shown}"


async def test_every_operation_through_every_door(world: World) -> None:
    intruder = await world.visitor("intruder")
    probe = world.probe(await world.own(intruder))
    for door in doors_of(intruder):
        for op in ops_of(door):
            await probe.ask(door, op)
    probe.judge_all(intruder.got)
    nothing_found(probe)


async def test_requests_made_up_from_the_schemas(world: World) -> None:
    intruder = await world.visitor("intruder")
    probe = world.probe(await world.own(intruder))
    door = intruder.nats[0]
    for op in OPERATIONS:
        requests = random_requests(op, probe.own, probe.its, SEED, RANDOM_REQUESTS)
        await probe.ask_at_random(door, op, ({**r, "wait_ms": 0} if "wait_ms" in r else r for r in requests))
    probe.judge_all(intruder.got)
    nothing_found(probe)


async def test_every_resource_prompt_completion_and_list(world: World) -> None:
    intruder = await world.visitor("intruder")
    probe = world.probe(await world.own(intruder))
    with old_protocol():
        for door in intruder.mcp:
            await _about(probe, door, "resource", door.read, _flat(resources, probe.own, probe.its))
            await _about(probe, door, "watch", door.watch, _flat(resources, probe.own, probe.its))
            for prompt, arguments in _pairs(prompts, probe.own, probe.its):
                comparable = probe.its.word not in arguments[0].values()
                await _about(probe, door, prompt, partial(door.prompt, prompt), arguments, comparable=comparable)
            for name, typed, given in completions(probe.own, probe.its):
                for ref in REFERENCES:
                    probe.markers.say(repr((typed, given)))
                    probe.judge(f"{door.name}: complete {name}", await door.complete(ref, name, typed, given))
            probe.judge(f"{door.name}: lists", await door.lists())
    probe.judge_all(intruder.got)
    nothing_found(probe)


async def test_what_an_agent_may_not_say_or_hear_on_nats(world: World) -> None:
    intruder = await world.visitor("intruder")
    probe, its = world.probe(await world.own(intruder)), world.named.things
    subjects = [
        "$SRV.PING", "$SRV.INFO.afterwit", "$SRV.STATS.afterwit", "$SYS.REQ.SERVER.PING.CONNZ", "$SYS.REQ.USER.INFO",
        "afterwit.v1.admin.dead_list", "afterwit.v1.admin.rebuild",
        "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.AFTERWIT_LOG", "$JS.API.DIRECT.GET.AFTERWIT_LOG",
        "$JS.API.STREAM.MSG.GET.KV_AFTERWIT_POOLS", f"afterwit.v1.req.{its.agent}.pools",
        f"afterwit.v1.ingest.{its.agent}.agent.{its.agent}", f"afterwit.v1.revoked.{its.agent}",
        f"afterwit.v1.changed.{its.pool.replace('/', '.')}.semantic.{its.shared_id}",
    ]  # fmt: skip
    for subject in subjects:
        probe.markers.say(subject)
    await forbidden_questions(intruder, subjects)
    for subject in (f"afterwit.v1.changed.{its.pool.replace('/', '.')}.>", f"_INBOX_{its.agent}.>"):
        await intruder.nc.subscribe(subject)
    heard = await intruder.nc.subscribe(f"afterwit.v1.rejected.{intruder.agent}")
    for pool, payload in ((its.pool, {"content": "x"}), (its.private_pool, {"content": "x"}), (its.pool, {"turn": 1})):
        subject = f"afterwit.v1.ingest.{intruder.agent}.{pool.replace('/', '.')}"
        await intruder.nc.request(subject, json.dumps(payload).encode(), timeout=30)
        probe.judge(f"rejected: {subject}", (await heard.next_msg(timeout=30)).data)
    await stir(world.named, world.markers)
    await stir(world.unnamed, world.markers)
    await sentinel(world, intruder, world.common)
    probe.judge_all(intruder.got)
    nothing_found(probe)


async def test_over_http_without_a_token_nothing_is_told(world: World) -> None:
    gateway, its = world.system.ready.gateways[0], world.named.things
    probe = world.probe(Own("nobody", "shared/none", its.private_id, "r"))
    async with httpx2.AsyncClient(timeout=30) as http:
        for path in ("/health", "/", "/mcp", "/.well-known/oauth-protected-resource/mcp", f"/mcp/{its.shared_id}"):
            world.markers.say(path)
            for headers in ({}, {"authorization": f"Bearer aw.{its.agent}.{'0' * 64}"}):
                answer = await http.get(gateway + path, headers=headers)
                probe.judge(path, answer.content + repr(answer.headers).encode())
        said = []
        for name in (its.agent, ghost(its).agent):
            answer = await http.post(gateway + "/mcp", headers={"authorization": f"Bearer aw.{name}.{'0' * 64}"})
            said.append((answer.status_code, answer.content, answer.headers["www-authenticate"]))
        assert said[0] == said[1]
    nothing_found(probe)


async def test_what_others_do_changes_no_answer(world: World) -> None:
    """Counts, ranks, word statistics, lists, pages: all as if the others were not there."""
    intruder = await world.visitor("intruder")
    own = await world.own(intruder)
    await sentinel(world, intruder, world.common)  # all notices so far have come as well
    before = await _everything(intruder, own)
    await stir(world.named, world.markers)
    await stir(world.unnamed, world.markers)
    await world.named.owner.ask("pool_create", pool=f"shared/{world.markers.new('another pool')}")
    after = await _everything(intruder, own)
    for question, answer in before.items():
        assert after[question] == answer, question
    probe = world.probe(own)
    for question, data in after.items():
        probe.judge(question, data)
    nothing_found(probe)


async def test_open_streams_hear_of_nothing_that_others_do(world: World) -> None:
    intruder = await world.visitor("intruder")
    probe = world.probe(await world.own(intruder))
    watched = [f"memory://{world.common}", "memory://pools", f"memory://agent/{intruder.agent}"]
    old, new = intruder.mcp
    with old_protocol():
        for uri in watched:
            await old.client.subscribe_resource(uri)
        async with new.client.listen(resource_subscriptions=watched, resources_list_changed=True) as events:
            heard_before = len(intruder.got)
            await stir(world.named, world.markers)
            await stir(world.unnamed, world.markers)
            await sentinel(world, intruder, world.common)
            told = {await asyncio.wait_for(anext(events), 30) for _ in range(3)}
            assert told == {
                ResourceUpdated(uri=f"memory://{world.common}"),
                ResourceUpdated(uri="memory://pools"),
                ResourcesListChanged(),
            }

    def legacy() -> list[bytes]:
        return [data for where, data in intruder.got[heard_before:] if where == "mcp, legacy, told"]

    # The two doors are told independently: that the new one heard all says nothing of the old one.
    await wait_until(lambda: len(legacy()) >= 2, description="the old protocol is told of the pool and the list")
    assert len(legacy()) <= 3, legacy()  # the sentinel's own, and nothing else
    probe.judge_all(intruder.got)
    nothing_found(probe)


async def sentinel(world: World, one: Visitor, pool: str) -> None:
    """The friend stores something that ``one`` may see, and it comes: what was told before has come as well."""
    memory = (await world.friend.ask("store", pool=pool, content="a sentinel"))["memory"]

    def came() -> bool:
        return any(memory["id"].encode() in data for _, data in one.got) or any(
            f"memory://{pool}".encode() in data for where, data in one.got if where.endswith("told")
        )

    async def listed() -> bool:
        return memory["id"].encode() in await one.nats[0].ask("changes", {"pools": [pool], "limit": 1000})

    await wait_until(listed, description="the sentinel is there")
    if one.mcp and any(where.endswith("told") for where, _ in one.got):
        await wait_until(came, description="the sentinel is told")


async def _everything(one: Visitor, own: Own) -> dict[str, bytes]:
    """All that the agent can find out without naming anything of others."""
    now = {"now": "2030-01-01T00:00:00Z"}
    questions: list[tuple[str, dict[str, Any]]] = [
        *(("retrieve", {"query": query, "top_k": 50, "pools": pools, **now})
          for query in ("relay tide harbour", "again", "潮汐") for pools in ([], [own.pool])),
        ("retrieve", {"query": "relay", "tags": ["tide"], "include_archived": True, "hops": 2, **now}),
        ("retrieve", {"query": "relay", "hops": 2, "top_k": 50, **now}),
        ("context", {"session_id": "mine"}), ("pools", {}), ("health", {"pool": own.pool, "newest": 50, "tags": 100}),
        ("health", {"pool": own.pool, "entities": 100}), ("entity", {"pool": f"agent/{own.agent}", "name": "harbour"}),
        ("history", {"id": own.memory}), ("get", {"id": own.memory}), ("changes", {"limit": 1000}),
        ("trace", {"id": own.memory, "direction": "effects"}), ("list", {"pool": own.pool}),
    ]  # fmt: skip
    found: dict[str, bytes] = {}
    for op, request in questions:
        if op in OPERATIONS:
            found[f"{op} {request}"] = plain(await one.nats[0].ask(op, request))
    for door in one.mcp:
        found[f"{door.name}: lists"] = plain(await door.lists())
        mine = f"memory://agent/{own.agent}"
        for uri in ("memory://pools", f"memory://{own.pool}", f"{mine}/session/mine", f"{mine}/entity/harbour"):
            found[f"{door.name}: {uri}"] = plain(await door.read(uri))
        found[f"{door.name}: recall"] = plain(await door.prompt("recall", {"topic": "relay tide harbour"}))
        ref = PromptReference(type="ref/prompt", name="recall")
        for name in ("pool", "tag"):
            found[f"{door.name}: complete {name}"] = plain(await door.complete(ref, name, "", {"pool": own.pool}))
    return found


async def _about(
    probe: Probe,
    door: McpDoor,
    what: str,
    ask: Callable[[Any], Awaitable[bytes]],
    pair: Any,
    *,
    comparable: bool = True,
) -> None:
    for real, other in pair if isinstance(pair, list) else [pair]:
        probe.markers.say(repr(real))
        answer = await ask(real)
        probe.judge(f"{door.name}: {what} {real}", answer)
        if comparable:
            probe.same(f"{door.name}: {what} {real}", answer, await ask(other))


def _flat(about: Callable[[Own, Things], dict[str, list[str]]], own: Own, its: Things) -> list[tuple[str, str]]:
    """(about its things, about a ghost's), for all that there is to ask."""
    real, other = about(own, its), about(own, ghost(its))
    return [pair for key in real for pair in zip(real[key], other[key], strict=True)]


def _pairs(
    about: Callable[[Own, Things], dict[str, list[dict[str, str]]]], own: Own, its: Things
) -> list[tuple[str, tuple[dict[str, str], dict[str, str]]]]:
    real, other = about(own, its), about(own, ghost(its))
    return [(key, pair) for key in real for pair in zip(real[key], other[key], strict=True)]
