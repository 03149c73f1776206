"""Two nodes and two gateways on one bus: they share the work, see each other's writes at once, and one can die."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from afterwit.bus import names
from afterwit.bus.connection import Credentials, connect
from tests.engines.agents import Agent, Refused, agent, in_own_task, mcp_client
from tests.engines.qdrant import QdrantFacade
from tests.engines.system import System, launched
from tests.engines.waiting import wait_until

from .test_crashes import ENOUGH, Ledger, writing


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """`afterwit up --nodes 2 --gateways 2` on the façade of a Qdrant server."""
    directory = tmp_path_factory.mktemp("pair")
    with QdrantFacade(directory / "qdrant") as qdrant:
        options = ("--nodes", "2", "--gateways", "2", "--qdrant-url", qdrant.url)
        with launched(directory, "alice", options=options) as running:
            yield running


@pytest_asyncio.fixture
async def alice(no_leaked_tasks: None, pair: System) -> AsyncIterator[Agent]:
    """Over NATS she reaches either node, over MCP the first gateway."""
    async with agent(pair, "alice") as one:
        yield one


@pytest_asyncio.fixture
async def pool(alice: Agent, unused: str) -> str:
    name = f"shared/{unused}"
    await alice.ask("pool_create", pool=name)
    return name


@dataclass(frozen=True)
class Work:
    """What one node has done."""

    indexed: int
    requests: dict[str, int]


async def work_of(pair: System) -> dict[str, Work]:
    """What each node says, by its process id."""
    credentials = Credentials.from_file(pair.data_dir / "credentials" / "node.json")
    nc = await connect(pair.ready.nats, name="test", credentials=credentials)
    try:
        inbox = nc.new_inbox()
        replies = await nc.subscribe(inbox)
        await nc.publish(names.SERVICE_STATS, reply=inbox)
        found: dict[str, Work] = {}
        while len(found) < 2:
            stats = json.loads((await replies.next_msg(timeout=30)).data)
            data: dict[str, Any] = stats["endpoints"][0]["data"]
            requests = {op: figures["requests"] for op, figures in data["operations"].items()}
            found[stats["metadata"]["pid"]] = Work(data["work"]["indexed"], requests)
        return found
    finally:
        await nc.close()


async def test_the_ready_file_names_them_all(pair: System) -> None:
    assert len(pair.pids("node")) == 2
    assert len(pair.pids("gateway")) == len(set(pair.ready.gateways)) == 2


async def test_what_one_node_acknowledged_is_found_on_the_other(pair: System, alice: Agent, pool: str) -> None:
    """Each request goes to whichever node takes it; stores and retrievals alternate between two gateways."""
    async with AsyncExitStack() as stack:
        second = await stack.enter_async_context(in_own_task(mcp_client(pair, pair.token("alice"), gateway=1)))
        other = Agent("alice", alice.token, second, alice.nc)
        for number in range(25):
            here, there = (alice, other) if number % 2 else (other, alice)
            memory = await here.store(f"The lantern number{number} is green", pool=pool)
            found = await there.retrieve(f"lantern number{number}", pools=[pool], top_k=50)
            assert memory["id"] in {each["id"] for each in found}
            changed = f"The lantern number{number} is blue"
            await here.ask("update", id=memory["id"], expected_version=1, content=changed)
            found = await there.retrieve(f"lantern number{number}", pools=[pool], top_k=50)
            assert changed in {each["content"] for each in found}
            assert (await there.ask("health", pool=pool))["active"] == number + 1
    for work in (await work_of(pair)).values():
        assert work.requests["store"] > 0
        assert work.requests["retrieve"] > 0


WRITER = """
import asyncio, json, sys
import nats
url, token, pool, process = sys.argv[1:]
async def main():
    nc = await nats.connect(url, token=token, inbox_prefix="_INBOX_alice")
    async def write(writer):
        for number in range(8):
            key = f"{process}-{writer}-{number}"
            request = {"content": f"reading {key}", "pool": pool, "idempotency_key": key}
            answer = await nc.request("afterwit.v1.req.alice.store", json.dumps(request).encode(), 60)
            print(json.loads(answer.data)["memory"]["id"])
    await asyncio.gather(*(write(writer) for writer in range(8)))
    await nc.close()
asyncio.run(main())
"""


async def test_32_writers_in_4_processes_lose_and_double_nothing(pair: System, alice: Agent, pool: str) -> None:
    async def run(process: int) -> list[str]:
        arguments = (pair.ready.nats, pair.token("alice"), pool, str(process))
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, *arguments, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await child.communicate()
        assert child.returncode == 0
        return output.decode().split()

    ids = [id for each in await asyncio.gather(*map(run, range(4))) for id in each]
    assert len(ids) == len(set(ids)) == 4 * 8 * 8
    assert (await alice.ask("health", pool=pool))["active"] == len(ids)

    async def all_told() -> list[str]:
        told = [notice["id"] for notice in await notices_of(alice, pool)]
        return told if len(told) >= len(ids) else []

    told = await wait_until(all_told, description="all notices are there")
    assert sorted(told) == sorted(ids), "one notice for each"


async def notices_of(alice: Agent, pool: str) -> list[dict[str, Any]]:
    """All notices of a pool."""
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = await alice.ask("changes", pools=[pool], cursor=cursor, limit=1000)
        if not page["notices"]:
            return found
        found += page["notices"]
        cursor = page["cursor"]


async def test_64_updates_of_one_memory_are_64_versions(alice: Agent, pool: str) -> None:
    """Each sees that it was too late and tries again; its notices come in order, each once, whoever indexed it."""
    id = (await alice.ask("store", content="a tally of 0", pool=pool))["memory"]["id"]

    async def add_one(number: int) -> None:
        while True:
            memory = (await alice.ask("get", id=id))["memory"]
            count = int(memory["content"].split()[-1])
            try:
                await alice.ask("update", id=id, expected_version=memory["version"], content=f"a tally of {count + 1}")
            except Refused as e:
                if e.code != "stale":
                    raise
            else:
                return

    await asyncio.gather(*map(add_one, range(64)))
    memory = (await alice.ask("get", id=id))["memory"]
    assert (memory["version"], memory["content"]) == (65, "a tally of 64")
    assert [v["version"] for v in (await alice.ask("history", id=id))["versions"]] == list(range(1, 66))

    async def told() -> list[int]:
        return [notice["version"] for notice in await notices_of(alice, pool)]

    async def all_told() -> bool:
        return len(await told()) >= 65

    await wait_until(all_told, description="all notices are there")
    assert await told() == list(range(1, 66))
    (found,) = await alice.retrieve("tally", pools=[pool])
    assert found["content"] == "a tally of 64"


async def bulk_run(pair: System, alice: Agent, pool: str, count: int) -> list[int]:
    """How much of a bulk run into the empty ``pool`` each node has indexed."""
    before = await work_of(pair)
    kind, _, name = pool.partition("/")
    for number in range(count):
        request = {"content": f"bulk item {number}", "idempotency_key": str(number)}
        await alice.nc.publish(f"afterwit.v1.ingest.alice.{kind}.{name}", json.dumps(request).encode())

    async def all_there() -> bool:
        return bool((await alice.ask("health", pool=pool))["active"] == count)

    await wait_until(all_there, description="everything is indexed", timeout_s=90)
    after = await work_of(pair)
    return [after[pid].indexed - before[pid].indexed for pid in after]


async def test_they_share_a_bulk_run(pair: System, alice: Agent, pool: str) -> None:
    """Where one of them stood still meanwhile, the other has done its part: that says nothing, and they run again."""
    runs: list[list[int]] = []
    while not any(min(shares) / sum(shares) >= 0.4 for shares in runs):
        assert len(runs) < 5, f"one of them has always done most of it: {runs}"
        await alice.ask("pool_create", pool=f"{pool}-{len(runs)}")
        runs.append(await bulk_run(pair, alice, f"{pool}-{len(runs)}", 600))
        assert sum(runs[-1]) >= 600


async def test_a_node_dies_and_the_other_goes_on(pair: System, alice: Agent, pool: str) -> None:
    alice.timeout_s = 5.0
    ledger = Ledger(pool)
    async with writing(alice, ledger):
        await wait_until(lambda: len(ledger.acknowledged) >= ENOUGH, description="writes before")
        killed = pair.pids("node")[0]
        os.kill(killed, signal.SIGKILL)
        before = len(ledger.acknowledged)
        await wait_until(lambda: len(ledger.acknowledged) >= before + ENOUGH, description="the other node goes on")
        await wait_until(
            lambda: killed not in pair.pids("node") and len(pair.pids("node")) == 2,
            description="it is started again",
        )
    alice.timeout_s = 30.0
    await ledger.check(alice)
