"""The commands against the whole system, as a person types them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from afterwit.deploy.client import Target, bus_client
from afterwit.deploy.probes import gateway_health
from afterwit.schemas import History, HistoryReply, Store, StoreReply, Update, UpdateReply
from tests.engines.shell import WITHIN_S, Shell
from tests.engines.system import System
from tests.engines.waiting import wait_until


@pytest.fixture
def shell(afterwit: System) -> Shell:
    return Shell(afterwit)


async def well(shell: Shell) -> None:
    """Wait until the gateway says that all is well: a part that stands still for a second is not."""

    async def said() -> bool:
        status, health = await gateway_health(shell.system.ready.health)
        return (status, health["status"]) == (200, "ok")

    await wait_until(said, description="the gateway is well")


async def test_store_retrieve_change_forget(shell: Shell) -> None:
    await well(shell)
    _, one = await shell.new_agent()
    _, other = await shell.new_agent()

    text = "The staging database moved to port 5433."
    stored = await shell.json("store", "--token", one, "--tag", "db", "-", stdin=text)
    assert stored["created"]
    memory_id = stored["memory"]["id"]

    people, _ = await shell.run("retrieve", "Where is the staging database?", "--token", one)
    assert text in people
    assert memory_id in people
    found = await shell.json("retrieve", "测试数据库在哪个端口？", "--token", one)
    assert found["items"][0]["memory"]["content"] == text
    assert (await shell.json("retrieve", "staging database", "--token", other))["items"] == []

    await shell.json("forget", memory_id, "--reason", "moved again", "--token", one)
    assert (await shell.json("retrieve", "staging database", "--token", one))["items"] == []
    versions = (await shell.json("history", memory_id, "--token", one))["versions"]
    assert versions[-1]["changes"]["status"] == ["active", "archived"]
    _, refusal = await shell.run("history", memory_id, "--token", other, status=1)
    assert refusal.startswith("not_found: ")


async def test_a_history_that_no_single_message_holds(shell: Shell) -> None:
    name, token = await shell.new_agent()
    async with bus_client(Target(url=shell.system.ready.nats, token=token, agent=name)) as bus:
        memory_id = (await bus.call("store", Store(content="The gate opens at 0."), StoreReply)).memory.id
        for hour in range(1, 24):
            request = Update(
                id=memory_id,
                expected_version=hour,
                content=f"The gate opens at {hour}.",
                data=f"{hour:02}" * 120_000,
            )
            await bus.call("update", request, UpdateReply)
        first = await bus.call("history", History(id=memory_id), HistoryReply)
        assert first.cursor == str(first.versions[-1].version), "as many as there is room for"
    versions = (await shell.json("history", memory_id, "--token", token))["versions"]
    assert [version["version"] for version in versions] == list(range(1, 25))
    assert [v["changes"]["content"][0] for v in versions[1:]] == [f"The gate opens at {hour}." for hour in range(23)]


async def test_pools_and_watching(shell: Shell) -> None:
    _, owner = await shell.new_agent()
    name, member = await shell.new_agent()
    pool = f"shared/{name}"
    kept = ("--retention", "working", "7", "--retention", "episodic", "90")
    await shell.run("pool", "create", pool, "--description", "Operations [/] [red]", *kept, "--token", owner)
    await shell.run("pool", "grant", pool, name, "writer", "--token", owner)
    listed = (await shell.json("pool", "list", "--token", member))["pools"]
    assert [(p["pool"], p["role"]) for p in listed] == [(f"agent/{name}", "owner"), (pool, "writer")]
    assert (listed[1]["retention_days"]["working"], listed[1]["retention_days"]["episodic"]) == (7, 90)
    shown, _ = await shell.run("pool", "list", "--token", member)
    assert "Operations [/] [red]" in shown
    told, _ = await shell.run("pool", "set", pool, "--retention", "semantic", "365", "--token", owner)
    assert "semantic memories for 365 days" in told
    _, refusal = await shell.run("pool", "set", pool, "--no-retention", "--token", member, status=1)
    assert refusal.startswith("forbidden: ")

    await shell.run("store", "before anybody watched", "--pool", pool, "--token", member)
    watching = await shell.start("watch", pool, "--count", "1", "--token", owner)
    assert watching.stderr is not None
    assert b"Watching" in await watching.stderr.readline()
    stored = await shell.json("store", "disk is full", "--pool", pool, "--token", member)
    async with asyncio.timeout(WITHIN_S):
        output, _ = await watching.communicate()
    assert stored["memory"]["id"] in output.decode()
    assert len(output.decode().splitlines()) == 1

    missed = await shell.start("watch", "--all", "--count", "2", "--json", "--token", owner)
    async with asyncio.timeout(WITHIN_S):
        output, _ = await missed.communicate()
    lines = [json.loads(line) for line in output.decode().splitlines()]
    assert [line["notice"]["change"] for line in lines] == ["created", "created"]

    await shell.run("pool", "revoke", pool, name, "--token", owner)
    _, refusal = await shell.run("store", "x", "--pool", pool, "--token", member, status=1)
    assert refusal.startswith("not_found: ")


async def test_a_file_is_taken_in_once_however_often_it_is_given(shell: Shell, tmp_path: Path) -> None:
    _, token = await shell.new_agent()
    file = tmp_path / "notes.jsonl"
    good = [json.dumps({"content": f"Turn {n}: build {n * 7} went through"}) for n in range(40)]
    keyed = json.dumps({"content": "keyed", "idempotency_key": "k"})
    bad = ['{"content": ""}', "", '{"contnet": "x"}', "no JSON", '{"content": "y", "pool": "shared/nowhere"}']
    file.write_text("\n".join([*good, keyed, *bad, keyed]))

    first = await shell.json("ingest", str(file), "--token", token, status=1)
    assert (first["lines"], first["stored"], first["created"]) == (46, 42, 41)
    refused = {line["line"]: line["error"]["code"] for line in first["refused"]}
    assert refused == {42: "invalid", 44: "invalid", 45: "invalid", 46: "not_found"}
    pools = await shell.json("pool", "list", "--token", token)
    assert sum(pools["pools"][0]["counts"].values()) == 41, "what ingest has returned from can be found"

    again = await shell.json("ingest", str(file), "--token", token, status=1)
    assert (again["stored"], again["created"]) == (42, 0)
    assert await shell.json("pool", "list", "--token", token) == pools


async def test_agents_and_their_tokens(shell: Shell) -> None:
    _, errors = await shell.run("store", "mine", "--agent", "alice")  # named at the start: its token is kept
    assert errors == ""
    name, token = await shell.new_agent()
    await shell.run("store", "mine", "--token", token)
    assert {"alice", name} <= {a["name"] for a in (await shell.json("agent", "list"))["agents"]}
    _, refusal = await shell.run("store", "x", "--agent", name, status=1)
    assert "no token of agent" in refusal

    new = (await shell.json("agent", "rotate", name, "--grace", "0"))["token"]
    _, refusal = await shell.run("pool", "list", "--token", token, status=1)
    assert refusal.startswith("unauthenticated: ")

    watching = await shell.start("watch", "--token", new)
    assert watching.stderr is not None
    await watching.stderr.readline()
    assert (await shell.json("agent", "revoke", name))["connections_ended"] >= 1
    _, refusal = await shell.run("pool", "list", "--token", new, status=1)
    assert refusal.startswith("unauthenticated: ")
    watching.kill()
    await watching.communicate()
    _, refusal = await shell.run("agent", "add", name, status=1)
    assert "choose another name" in refusal


async def test_the_doctor_finds_what_is_wrong(shell: Shell) -> None:
    """Asked until it says so: a part that stands still for a second, as on a busy machine, is not well either."""
    wrong: list[dict[str, Any]] = []

    async def found(*expected: str) -> bool:
        report = await shell.json("doctor", status=None)
        wrong[:] = [check for check in report["checks"] if check["state"] != "ok"]
        return report["ok"] == (not expected) and tuple(check["what"] for check in wrong) == expected

    await wait_until(found, description="all is well")
    credentials = shell.system.data_dir / "credentials" / "admin.json"
    credentials.chmod(0o644)
    try:
        await wait_until(lambda: found("data directory"), description="it is found")
    finally:
        credentials.chmod(0o600)
    assert "chmod" in wrong[0]["remedy"]


async def test_a_killed_node_is_back_with_everything(shell: Shell) -> None:
    _, token = await shell.new_agent()
    stored = await shell.json("store", "survives a kill", "--token", token)
    (node,) = shell.system.pids("node")
    os.kill(node, signal.SIGKILL)
    await wait_until(lambda: shell.system.pids("node") not in ([], [node]), description="the node restarted")
    found = await shell.json("retrieve", "survives a kill", "--token", token)
    assert [item["memory"]["id"] for item in found["items"]] == [stored["memory"]["id"]]
    await well(shell)
