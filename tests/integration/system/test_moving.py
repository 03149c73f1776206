"""Pools as a whole: `list`, `afterwit export`, `import` and `audit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engines.agents import Agent, Refused
from tests.engines.shell import Shell
from tests.engines.system import System
from tests.samples import new_id


async def listed(who: Agent, pool: str, **request: Any) -> list[dict[str, Any]]:
    """All pages."""
    versions: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = await who.ask("list", pool=pool, cursor=cursor, **request)
        versions += page["versions"]
        cursor = page.get("cursor")
        if cursor is None:
            return versions


async def test_a_pool_is_listed_in_current_versions(alice: Agent, pool: str) -> None:
    first = await alice.store("first", pool=pool)
    second = await alice.store("second", pool=pool)
    await alice.ask("update", id=first["id"], expected_version=1, content="first, changed")
    await alice.ask("forget", ids=[second["id"]], reason="old")
    found = await listed(alice, pool, limit=1)
    assert [(v["memory"]["content"], v["change"], v["actor"]) for v in found] == [
        ("first, changed", "updated", "alice"),
        ("second", "archived", "alice"),
    ]
    every = await listed(alice, pool, history=True)
    assert [(v["memory"]["version"], v["change"]) for v in every] == [
        (1, "created"), (1, "created"), (2, "updated"), (2, "archived"),
    ]  # fmt: skip
    assert every[-1]["reason"] == "old"


async def test_a_purged_memory_is_listed_as_history_alone(alice: Agent, pool: str) -> None:
    memory = await alice.store("gone", pool=pool)
    await alice.ask("forget", ids=[memory["id"]], reason="law", purge=True)
    assert await listed(alice, pool) == []
    (tombstone,) = await listed(alice, pool, history=True)
    assert (tombstone["change"], tombstone["reason"]) == ("purged", "law")
    assert not tombstone["memory"].get("content")


async def test_large_memories_come_in_more_pages(alice: Agent, pool: str) -> None:
    items = [{"content": f"number {n}", "data": "x" * 60_000, "pool": pool} for n in range(20)]
    await alice.ask("store_many", items=items)
    found = await listed(alice, pool)
    assert sorted(v["memory"]["content"] for v in found) == sorted(item["content"] for item in items)
    page = await alice.ask("list", pool=pool)
    assert len(page["versions"]) < 20
    assert page["cursor"]


async def test_only_readers_may(alice: Agent, bob: Agent, pool: str) -> None:
    for unreadable in (pool, "agent/alice", "shared/nowhere"):
        with pytest.raises(Refused) as refused:
            await bob.ask("list", pool=unreadable)
        assert refused.value.code == "not_found"
    with pytest.raises(Refused) as refused:
        await alice.ask("list", pool=pool, cursor="x")
    assert refused.value.field == "cursor"


async def test_out_of_one_pool_and_into_another(afterwit: System, alice: Agent, pool: str, tmp_path: Path) -> None:
    """Twice is once; who imports is the author, and tags say so; links follow; what was archived stays behind."""
    shell = Shell(afterwit)
    target = f"{pool}-copy"
    await alice.ask("pool_create", pool=target)
    cause = await alice.store("磁盘满了", pool=pool, tags=["disk"], source="tool", data={"free": 0})
    effect = await alice.store("the build failed", pool=pool, caused_by=[cause["id"]])
    await alice.ask("update", id=cause["id"], expected_version=1, content="The disk was full.")
    old = await alice.store("old", pool=pool)
    await alice.ask("forget", ids=[old["id"]], reason="old")

    file = tmp_path / "memories.jsonl"
    await shell.run("export", pool, "--history", "--to", str(file), "--agent", "alice")
    assert len(file.read_text().splitlines()) == 5
    large = json.loads(file.read_text().splitlines()[0])
    large["memory"] |= {"id": new_id(), "content": "大" * 30_000}
    with file.open("a") as f:
        f.write(f"no JSON\n{json.dumps(large)}\n")
    name, token = await shell.new_agent()
    await alice.ask("pool_grant", pool=target, agent=name, role="writer")
    for created in (2, 0):
        reply = await shell.json("import", str(file), "--pool", target, "--token", token, status=1)
        assert (reply["stored"], reply["created"], reply["left_out"], reply["links"]) == (2, created, 1, 1)
        assert [(line["line"], line["error"]["code"]) for line in reply["refused"]] == [
            (6, "invalid"),
            (7, "too_large"),
        ]

    imported = {v["memory"]["content"]: v["memory"] for v in await listed(alice, target)}
    assert set(imported) == {"The disk was full.", effect["content"]}
    disk = imported["The disk was full."]
    assert (disk["author"], disk["source"], disk["data"]) == (name, "agent", {"free": 0})
    assert set(disk["tags"]) == {"disk", "imported", "imported from alice"}
    assert disk["occurred_at"] == cause["occurred_at"]
    (link,) = imported[effect["content"]]["links"]
    assert (link["rel"], link["target"]) == ("caused_by", disk["id"])


async def test_everything_that_an_agent_may_read_is_exported(afterwit: System, alice: Agent, pool: str) -> None:
    memory = await alice.store("in a shared pool", pool=pool)
    own = await alice.store("in a private pool")
    output, _ = await Shell(afterwit).run("export", "--agent", "alice")
    ids = {json.loads(line)["memory"]["id"] for line in output.splitlines()}
    assert {memory["id"], own["id"]} <= ids
    _, refusal = await Shell(afterwit).run("export", pool, "--agent", "bob", status=1)
    assert refusal.startswith("not_found: ")


async def test_who_changed_what(afterwit: System, alice: Agent, bob: Agent, pool: str) -> None:
    shell = Shell(afterwit)
    await alice.ask("pool_grant", pool=pool, agent="bob", role="writer")
    memory = await alice.store("a", pool=pool)
    await bob.ask("update", id=memory["id"], expected_version=1, content="b")
    await bob.store("another", pool=pool)
    await alice.ask("forget", ids=[memory["id"]], reason="wrong")
    lines = [
        json.loads(line) for line in (await shell.run("audit", pool, "--agent", "alice", "--json"))[0].splitlines()
    ]
    assert [(line["actor"], line["change"], line["version"]) for line in lines] == [
        ("alice", "created", 1), ("bob", "updated", 2), ("bob", "created", 1), ("alice", "archived", 3),
    ]  # fmt: skip
    of_one = (await shell.run("audit", memory["id"], "--agent", "alice", "--json"))[0].splitlines()
    assert [json.loads(line) for line in of_one] == [line for line in lines if line["id"] == memory["id"]]
    assert [json.loads(line)["status"] for line in of_one] == ["active", "active", "archived"]
    people, _ = await shell.run("audit", memory["id"], "--agent", "alice")
    assert len(people.splitlines()) == 3
    assert "wrong" in people.splitlines()[-1]
    await alice.ask("pool_revoke", pool=pool, agent="bob")
    _, refusal = await shell.run("audit", memory["id"], "--agent", "bob", status=1)
    assert refusal.startswith("not_found: ")
