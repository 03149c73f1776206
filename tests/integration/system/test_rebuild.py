"""`afterwit rebuild`: the views are thrown away and made anew from the log, while everything goes on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from nats.aio.client import Client

from afterwit.bus import names
from tests.engines.agents import Agent, pools_of
from tests.engines.shell import Shell
from tests.engines.system import System
from tests.engines.waiting import wait_until


async def test_index_and_windows_are_the_same_afterwards(afterwit: System, alice: Agent, unused: str) -> None:
    turns = [await alice.store(f"turn {n}", session_id=unused, turn=n) for n in range(3)]
    window = await alice.tool("memory_context", session_id=unused)
    changed = await alice.ask("update", id=turns[0]["id"], expected_version=1, content="turn zero")
    pools = await pools_of(alice)

    reply = await Shell(afterwit).json("rebuild")
    assert reply["before"] == reply["after"]
    assert reply["after"]["memories"] >= 3
    assert reply["entries"] >= 4
    assert await pools_of(alice) == pools
    assert (await alice.tool("memory_context", session_id=unused))["turns"] == [
        changed["memory"],
        *window["turns"][1:],
    ]


async def test_it_answers_and_takes_writes_meanwhile(afterwit: System, alice: Agent, unused: str) -> None:
    await alice.ask("store_many", items=[{"content": f"{unused} before {n}", "tags": [unused]} for n in range(200)])
    rebuilding = asyncio.create_task(Shell(afterwit).json("rebuild"))
    written = 0
    while not rebuilding.done():
        await alice.store(f"{unused} meanwhile {written}", tags=[unused])
        written += 1
        assert len(await alice.retrieve(unused, tags=[unused], top_k=50)) == 50
    await rebuilding
    assert written > 0

    listed = [
        json.loads(line)["memory"]
        for line in (await Shell(afterwit).run("export", "agent/alice", "--agent", "alice"))[0].splitlines()
    ]
    assert len([memory for memory in listed if unused in memory["tags"]]) == 200 + written
    health = (await alice.ask("retrieve", query=unused, tags=[unused], top_k=1))["total_candidates"]
    assert health >= 50


async def test_reindex_is_another_word_for_it(afterwit: System) -> None:
    people, _ = await Shell(afterwit).run("reindex")
    assert "the same" in people


async def test_only_the_operator_may(afterwit: System, alice: Agent) -> None:
    await alice.nc.publish(names.admin("rebuild"), b"{}")
    await wait_until(
        lambda: [reason for reason in alice.denied if "admin.rebuild" in reason], description="NATS refuses it"
    )


async def test_garbage_in_the_log_stops_nobody(afterwit: System, alice: Agent, operator: Client, unused: str) -> None:
    """It goes to the dead letters, what is behind it is indexed, and a rebuild passes it over."""
    shell = Shell(afterwit)
    subject = names.log("agent/alice", "0198c5d2-7a3e-7b1c-9f00-0000000000aa")
    js = operator.jetstream()
    garbage = await js.publish(subject, b"\xc1 garbage")
    memory = await alice.store(f"behind the garbage {unused}")
    assert (await alice.retrieve(f"behind the garbage {unused}"))[0]["id"] == memory["id"]

    async def letters() -> list[dict[str, Any]]:
        return [each for each in (await shell.json("dead", "list"))["letters"] if each["subject"] == subject]

    (letter,) = await wait_until(letters, description="it is a dead letter")
    assert letter["what"] == "log"
    assert "cannot be read" in letter["reason"]
    reply = await shell.json("rebuild")
    assert reply["before"] == reply["after"]

    failed = await shell.json("dead", "retry", str(letter["id"]), status=1)
    assert [each["id"] for each in failed["failed"]] == [letter["id"]], "it is still garbage"
    assert (await shell.json("dead", "drop", str(letter["id"])))["done"] == [letter["id"]]
    assert (await shell.json("dead", "drop", str(letter["id"]), status=1))["unknown"] == [letter["id"]]
    await js.delete_msg(names.LOG, garbage.seq)


async def test_a_refused_item_is_retried_when_it_may_pass(afterwit: System, alice: Agent, unused: str) -> None:
    """Ingested into a pool that is not there yet: refused, kept, and taken in once there is one."""
    shell = Shell(afterwit)
    pool = f"shared/{unused}"
    subject = names.ingest("alice", pool)
    request = {"content": f"too early {unused}", "idempotency_key": unused}
    heard = await alice.nc.subscribe(names.rejected("alice"))
    await alice.nc.request(subject, json.dumps(request).encode(), timeout=30)
    assert json.loads((await heard.next_msg(timeout=30)).data)["error"]["code"] == "not_found"

    async def letters() -> list[int]:
        return [each["id"] for each in (await shell.json("dead", "list"))["letters"] if each["subject"] == subject]

    (first,) = await letters()
    assert (await shell.json("dead", "retry", str(first)))["done"] == [first]
    assert json.loads((await heard.next_msg(timeout=30)).data)["error"]["code"] == "not_found"
    (second,) = await letters()
    assert second > first, "retried too early, it is a dead letter again"

    await alice.ask("pool_create", pool=pool)
    assert (await shell.json("dead", "retry", str(second)))["done"] == [second]
    assert await letters() == []

    async def found() -> list[str]:
        return [memory["content"] for memory in await alice.retrieve(unused, pools=[pool])]

    assert await wait_until(found, description="it is found") == [request["content"]]
    await heard.unsubscribe()


@pytest.mark.parametrize("command", ["retry", "drop"])
async def test_which_ones_has_to_be_said(afterwit: System, command: str) -> None:
    _, refusal = await Shell(afterwit).run("dead", command, status=1)
    assert "ids" in refusal
