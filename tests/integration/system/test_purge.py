"""After a purge the text is nowhere (G8): a search through every byte of the data directory."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from afterwit.bus import names
from afterwit.bus.direct import Reader
from afterwit.bus.log import Log
from afterwit.memory_node.index import turn_before
from afterwit.memory_node.traces import forms, places, traces
from tests.engines.agents import Agent, Refused, agent
from tests.engines.shell import Shell
from tests.engines.system import System, afterwit_up
from tests.engines.waiting import wait_until
from tests.samples import memory as memory_of

Secret = Callable[[str], str]


@pytest.fixture(params=["en", "zh"])
def secret(request: pytest.FixtureRequest, unused: str) -> Secret:
    """Makes texts that stand nowhere else, in English and in Chinese."""
    if request.param == "en":
        return lambda what: f'The vault of {unused} opens with "{what} 77-81"/QXZ; tell nobody, not even Marta.'
    return lambda what: f"{unused}号保险柜的密码是“{what} 七七八一”/QXZ，不要告诉任何人，包括玛尔塔。"


def files_with(system: System, text: str) -> list[str]:
    return [str(trace.file.relative_to(system.data_dir)) for trace in traces(system.data_dir, text)]


async def purge(alice: Agent, *ids: str, **more: Any) -> dict[str, Any]:
    """Purge, and ask again as long as the erasing goes on: on a busy machine it may take longer than an answer may."""
    purged: list[str] = []
    async with asyncio.timeout(90):
        while True:
            try:
                reply = await alice.ask("forget", ids=list(ids), reason="asked to", purge=True, **more)
            except Refused as e:
                if e.code != "timeout":
                    raise
                purged += e.detail["purged"]
            else:
                return reply | {"ids": [*purged, *reply["ids"]], "count": len(purged) + reply["count"]}


async def test_a_purged_text_is_nowhere(afterwit: System, alice: Agent, bob: Agent, pool: str, secret: Secret) -> None:
    """Stored, changed, with data, in a window, found by several, shared, and asked for by its own words."""
    await alice.ask("pool_grant", pool=pool, agent="bob", role="reader")
    first, second, inside = secret("first"), secret("second"), secret("inside")
    memory = await alice.store(first, data={"note": inside}, session_id="vault", turn=1, entities=[secret("entity")])
    await alice.tool("memory_context", session_id="vault")
    changed = await alice.ask("update", id=memory["id"], expected_version=1, content=second, tags=[secret("tag")])
    copy = (await alice.tool("memory_share", id=memory["id"], pool=pool))["memory"]
    found = await alice.ask("retrieve", query=first)
    await bob.retrieve(second, pools=[pool])
    used = {"id": found["items"][0]["memory"]["id"], "effect": "helped", "note": second}
    await alice.ask("feedback", retrieval_id=found["retrieval_id"], used=[used])
    texts = [first, second, inside, secret("entity"), secret("tag")]
    assert all(files_with(afterwit, text) for text in texts), "the search would find them"

    reply = await purge(alice, memory["id"], cascade=True)
    assert sorted(reply["ids"]) == sorted([memory["id"], copy["id"]])
    assert {text: files_with(afterwit, text) for text in texts} == {text: [] for text in texts}

    for owner, id in ((alice, memory["id"]), (bob, copy["id"])):
        tombstone = (await owner.ask("get", id=id))["memory"]
        assert tombstone["status"] == "purged"
        assert not any(tombstone.get(field) for field in ("content", "data", "turn"))
        assert not any(tombstone.get(field) for field in ("entities", "tags", "labels", "links", "fact", "session_id"))
        (version,) = (await owner.ask("history", id=id))["versions"]
        assert (version["actor"], version["reason"]) == ("alice", "asked to")
        with pytest.raises(Refused, match="version"):
            await owner.ask("get", id=id, version=1)
    assert changed["memory"]["version"] == 2
    assert memory["id"] not in {m["id"] for m in await alice.retrieve(first, include_archived=True)}
    assert (await alice.tool("memory_context", session_id="vault"))["turns"] == []
    assert {text: files_with(afterwit, text) for text in texts} == {text: [] for text in texts}


async def test_the_turn_after_forgets_it_too(
    afterwit: System, alice: Agent, operator: Client, secret: Secret, unused: str
) -> None:
    """Nothing stays of the numbers of its terms, nor of vectors that it had a part in; and of that turn all stays."""
    said = [secret("0")[:18], secret("1"), secret("2")[4:22]]
    _, purged, after = [
        await alice.store(text, kind="agent_thought", session_id=unused, turn=n) for n, text in enumerate(said)
    ]
    for version in (1, 2):
        after = (await alice.ask("update", id=after["id"], expected_version=version, tags=[f"v{version}"]))["memory"]
    entries = [entry.entry for entry in await Log(operator).entries(after["id"], after["pool"])]
    assert [entry.before.id for entry in entries if entry.before] == [purged["id"]] * 3
    made_of_it = [("numbers", entries[0].before.terms), ("vector", entries[0].embedding.values)]  # type: ignore[union-attr]
    history = await alice.ask("history", id=after["id"])
    listed = await all_of(alice, "agent/alice")
    assert {trace.form for trace in places(afterwit.data_dir, made_of_it)} == {"numbers", "vector"}

    await purge(alice, purged["id"])
    assert list(places(afterwit.data_dir, made_of_it)) == []
    assert files_with(afterwit, said[1]) == []

    assert await alice.ask("history", id=after["id"]) == history
    (entry,) = [entry.entry for entry in await Log(operator).entries(after["id"], after["pool"])]
    assert (entry.memory.version, entry.before, entry.embedding is not None) == (3, None, True)
    assert (await alice.ask("get", id=after["id"], version=1))["memory"]["version"] == 1
    assert after["id"] in {m["id"] for m in await alice.retrieve(said[2])}
    assert {m["id"] for m in await all_of(alice, "agent/alice")} == {m["id"] for m in listed} - {purged["id"]}
    versions = [m["version"] for m in await all_of(alice, "agent/alice", history=True) if m["id"] == after["id"]]
    assert versions == [1, 2, 3], "an export has each once"
    found = await alice.ask("retrieve", query=said[2], after_seq=after["seq"])
    assert not found.get("degraded"), "what stood at that place can be found elsewhere"
    restored = await alice.ask("update", id=after["id"], expected_version=3, restore_version=1)
    assert not restored["memory"].get("tags")


async def messages_with(operator: Client, *texts: str) -> list[str]:
    """The messages of all streams and buckets, those in memory too, in which one of ``texts`` stands."""
    wanted = [form for text in texts for form in forms(text).values()]
    found = []
    for stream in await operator.jetstream().streams_info():
        assert stream.config.name is not None
        async for stored in Reader(operator, stream.config.name).scan():
            everything = (stored.data, stored.subject.encode(), *(value.encode() for value in stored.headers.values()))
            if any(word in part for word in wanted for part in everything):
                found.append(stored.subject)
    return found


async def test_looking_back_keeps_nothing(
    afterwit: System, alice: Agent, operator: Client, secret: Secret, unused: str
) -> None:
    """A session was told, reflected on, and disputed by another memory; jobs were asked about its very words."""
    text = secret("told")
    memory = await alice.store(text, kind="user_input", session_id=unused, turn=1, entities=[unused])
    await alice.store("Opened.", kind="final_answer", session_id=unused, turn=2, caused_by=[memory["id"]])
    fact = {"subject": f"vault {unused}", "predicate": "code", "object": secret("object")[:40]}
    kept = [
        await alice.store(f"the code of vault {unused} is {n}", kind="fact", tier="semantic", fact=fact | {"object": n})
        for n in ("A-1", "B-2")
    ]
    stated = await alice.store(text[::-1], kind="fact", tier="semantic", fact=fact)
    await alice.ask("end_session", session_id=unused, outcome="success")
    for asked in ({"session_id": unused}, {"focus": text}, {"focus": text, "dry_run": True}):
        assert (await alice.look_back(**asked))["state"] == "done"
    texts = [text, text[::-1], fact["object"]]
    assert await messages_with(operator, text)
    assert files_with(afterwit, text)

    await purge(alice, memory["id"], stated["id"], cascade=True)
    assert await messages_with(operator, *texts) == []
    assert [files_with(afterwit, each) for each in texts] == [[], [], []]
    assert [(await alice.ask("get", id=each["id"]))["memory"]["content"] for each in kept] == [
        each["content"] for each in kept
    ]


async def test_what_came_by_the_ingest_stream_is_nowhere_either(afterwit: System, alice: Agent, secret: Secret) -> None:
    texts = [secret(f"item {n}") for n in range(3)]
    for n, text in enumerate(texts[:2]):
        request = {"content": text, "idempotency_key": secret(f"key {n}")}
        await alice.nc.request("afterwit.v1.ingest.alice.agent.alice", json.dumps(request).encode(), timeout=30)
    await alice.ask("store_many", items=[{"content": texts[2]}])

    async def ids() -> list[str]:
        found = [m["id"] for m in await all_of(alice, "agent/alice") if m["content"] in texts]
        return found if len(found) == 3 else []

    await purge(alice, *await wait_until(ids, description="all three are in the log"))
    assert [files_with(afterwit, text) for text in texts] == [[], [], []]


async def test_a_busy_ingest_stream_is_washed(afterwit: System, alice: Agent, unused: str) -> None:
    """An acknowledged item stays in its file as long as others wait there: the file has to be left behind."""
    text = f"The vault of {unused} opens with 77-81 while others queue."
    subject = "afterwit.v1.ingest.alice.agent.alice"
    for n, content in enumerate([text, *(f"one of many, {unused} {n}" for n in range(150))]):
        request = {"content": content, "idempotency_key": f"{unused} {n}"}
        await alice.nc.request(subject, json.dumps(request).encode(), timeout=30)

    async def id() -> str:
        return next((m["id"] for m in await all_of(alice, "agent/alice") if m["content"] == text), "")

    await purge(alice, await wait_until(id, description="it is in the log"))
    assert files_with(afterwit, text) == []


async def test_a_purged_key_answers_with_the_tombstone(afterwit: System, alice: Agent, secret: Secret) -> None:
    """Whatever the content: nothing is kept that could tell whether it is the same."""
    key = secret("key")
    memory = await alice.store(secret("x"), idempotency_key=key)
    await purge(alice, memory["id"])
    for content in (secret("x"), "something else"):
        again = await alice.ask("store", content=content, idempotency_key=key)
        assert (again["created"], again["memory"]["id"], again["memory"]["status"]) == (False, memory["id"], "purged")
    assert files_with(afterwit, secret("x")) == []


async def test_purging_again_changes_nothing(alice: Agent) -> None:
    memory = await alice.store("to be purged twice")
    assert (await purge(alice, memory["id"]))["count"] == 1
    assert (await purge(alice, memory["id"]))["count"] == 0
    assert (await alice.ask("get", id=memory["id"]))["memory"]["version"] == 2
    with pytest.raises(Refused, match="purged"):
        await alice.ask("update", id=memory["id"], expected_version=2, content="back again")


async def test_copies_that_stay_are_named(alice: Agent, pool: str) -> None:
    memory = await alice.store("a fact to be shared")
    copy = (await alice.tool("memory_share", id=memory["id"], pool=pool))["memory"]
    await alice.tool("memory_forget", ids=[copy["id"]], reason="archived copies are copies")
    assert (await purge(alice, memory["id"]))["remaining"] == [copy["id"]]
    assert (await alice.ask("get", id=copy["id"]))["memory"]["content"] == "a fact to be shared"


async def test_purging_takes_a_writer(alice: Agent, bob: Agent, pool: str) -> None:
    memory = await alice.store("not bob's", pool=pool)
    with pytest.raises(Refused) as refused:
        await purge(bob, memory["id"])
    assert refused.value.code == "not_found"
    await alice.ask("pool_grant", pool=pool, agent="bob", role="reader")
    with pytest.raises(Refused) as refused:
        await purge(bob, memory["id"])
    assert refused.value.code == "forbidden"
    await alice.ask("pool_grant", pool=pool, agent="bob", role="writer")
    assert (await purge(bob, memory["id"]))["count"] == 1


async def test_watchers_are_told_once_nothing_is_left(afterwit: System, alice: Agent, secret: Secret) -> None:
    memory = await alice.store(secret("told"))
    subscription = await alice.nc.subscribe("afterwit.v1.changed.agent.alice.>")
    await alice.nc.flush()
    purging = asyncio.create_task(purge(alice, memory["id"]))
    notice = json.loads((await subscription.next_msg(timeout=30)).data)
    assert files_with(afterwit, secret("told")) == []
    assert (notice["id"], notice["change"], notice["version"]) == (memory["id"], "purged", 2)
    await purging
    await subscription.unsubscribe()


async def test_dead_letters_lose_it_too(afterwit: System, alice: Agent, operator: Client, secret: Secret) -> None:
    memory = await alice.store(secret("dead"))
    refused = json.dumps({"content": secret("dead"), "colour": "red"}).encode()
    js = operator.jetstream()
    before = (await js.stream_info(names.DEAD)).state.last_seq
    await alice.nc.request("afterwit.v1.ingest.alice.agent.alice", refused, timeout=30)

    async def buried() -> bool:
        return (await js.stream_info(names.DEAD)).state.last_seq > before

    await wait_until(buried, description="it is a dead letter")
    await purge(alice, memory["id"])
    assert files_with(afterwit, secret("dead")) == []


async def test_the_command_proves_it(afterwit: System, alice: Agent, secret: Secret) -> None:
    shell = Shell(afterwit)
    memory = await alice.store(secret("cli"), data={"deep": [secret("data")]})
    found = await shell.json("purge", "--verify", "--text", secret("cli"), status=1)
    assert {entry["form"] for entry in found["verified"]["found"]} >= {"utf-8"}
    done = await shell.json("purge", memory["id"], "--reason", "asked to", "--verify", "--agent", "alice")
    assert (done["purged"]["count"], done["verified"]["texts"], done["verified"]["found"]) == (1, 2, [])
    people, _ = await shell.run("purge", "--verify", "--text", "-", stdin=secret("cli"))
    assert "No trace" in people
    await shell.run("purge", memory["id"], "--agent", "alice", status=2)


async def test_a_node_that_dies_while_it_erases_is_caught_up(tmp_path: Path) -> None:
    """Killed right after the request; the erasing belongs to the tombstone's entry, which is delivered again."""
    text = "The vault opens with 77-81 before the node dies."
    numbers = [("numbers", turn_before(memory_of(text)).terms)]
    async with afterwit_up(tmp_path, "alice") as system, agent(system, "alice") as alice:
        memory = await alice.store(text, session_id="vault", turn=1)
        after = await alice.store("And who else knows?", session_id="vault", turn=2)
        assert list(places(tmp_path, numbers))
        request = json.dumps({"ids": [memory["id"]], "reason": "x", "purge": True}).encode()
        await alice.nc.publish("afterwit.v1.req.alice.forget", request, reply=alice.nc.new_inbox())

        async def buried() -> bool:
            return bool((await alice.ask("get", id=memory["id"]))["memory"]["status"] == "purged")

        await wait_until(buried, description="the tombstone is in the log")
        (node,) = system.pids("node")
        os.kill(node, signal.SIGKILL)
        await wait_until(lambda: system.pids("node") not in ([], [node]), description="a new node")
        await wait_until(lambda: not files_with(system, text), description="it is erased")
        assert (await purge(alice, memory["id"]))["count"] == 0
        assert list(places(tmp_path, numbers)) == []
        assert len((await alice.ask("history", id=after["id"]))["versions"]) == 1
    async with afterwit_up(tmp_path, "alice") as system, agent(system, "alice") as alice:
        assert files_with(system, text) == []
        assert (await alice.ask("get", id=memory["id"]))["memory"]["status"] == "purged"
        assert [m["id"] for m in await alice.retrieve("vault", include_archived=True)] in ([], [after["id"]])
    assert list(traces(tmp_path, text)) == []
    assert list(places(tmp_path, numbers)) == []


async def all_of(alice: Agent, pool: str, *, history: bool = False) -> list[dict[str, Any]]:
    memories: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = await alice.ask("list", pool=pool, cursor=cursor, history=history)
        memories += [version["memory"] for version in page["versions"]]
        cursor = page.get("cursor")
        if cursor is None:
            return memories
