"""Two of everything that is hidden: one that the intruder can name, and one that nobody may ever hear of."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, fields
from typing import Any

from tests.engines.agents import Agent, Refused
from tests.engines.waiting import wait_until

from .markers import Markers

Reply = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Things:
    """Names of what somebody else has, each of them good for a question."""

    agent: str
    private_id: str
    pool: str
    shared_id: str
    session: str
    retrieval: str
    key: str
    tag: str
    entity: str
    task_type: str
    label: str
    word: str

    @property
    def private_pool(self) -> str:
        return f"agent/{self.agent}"

    def anonymous(self, data: bytes) -> bytes:
        """``data`` with our names taken out, so that answers about different things can be held against each other."""
        for each in fields(self):
            data = data.replace(getattr(self, each.name).encode(), f"<{each.name}>".encode())
        return data


def ghost(like: Things) -> Things:
    """Things of the same form that never existed."""

    def other(value: str) -> str:
        if len(value) == 36 and value.count("-") == 4:
            return str(uuid.UUID(int=uuid.UUID(value).int ^ 0xABCDEF))
        return value[:-6] + "ghosts"

    return Things(**{each.name: other(getattr(like, each.name)) for each in fields(like)})


@dataclass(frozen=True, slots=True)
class Hidden:
    """What one owner has hidden."""

    owner: Agent
    things: Things


async def hide(owner: Agent, name: str, markers: Markers) -> Hidden:
    """Fill ``owner``'s private pool and a shared one. Every text holds a word of ``markers`` that is nowhere else."""
    new = markers.new
    pool = f"shared/{new(f'{name}: pool name')}"
    await owner.ask("pool_create", pool=pool, description=new(f"{name}: pool description"))
    things: dict[str, str] = {
        "agent": owner.name, "pool": pool, "session": new(f"{name}: session"), "key": new(f"{name}: idempotency key"),
        "tag": new(f"{name}: tag"), "entity": new(f"{name}: entity"), "task_type": new(f"{name}: task type"),
        "label": new(f"{name}: label"), "word": new(f"{name}: word of content"),
    }  # fmt: skip
    for kind, where in (("private", owner.pool), ("shared", pool)):
        memory = await _memory(owner, where, f"{name}, {kind}", things, markers)
        things[f"{kind}_id"] = memory["id"]
    found = await owner.ask("retrieve", query=f"{things['word']} {new(f'{name}: query')}")
    things["retrieval"] = found["retrieval_id"]
    markers.add(found["retrieval_id"], f"{name}: retrieval id")
    used = [{"id": found["items"][0]["memory"]["id"], "effect": "helped", "note": new(f"{name}: feedback note")}]
    await owner.ask("feedback", retrieval_id=found["retrieval_id"], used=used)
    await _rejected_item(owner, new(f"{name}: rejected item"))
    return Hidden(owner, Things(**things))


async def _memory(owner: Agent, pool: str, name: str, things: dict[str, str], markers: Markers) -> Reply:
    """One that was changed, linked, has a history, and stands beside an archived one."""

    def new(what: str) -> str:
        return markers.new(f"{name}: {what}")

    cause = await owner.ask("store", pool=pool, content=f"cause {new('cause')}", session_id=things["session"], turn=1)
    fields: Reply = {
        "content": f"{things['word']} {new('first content')} relay",
        "data": {new("data key"): [new("data value")]},
        "tags": [things["tag"]],
        "entities": [things["entity"]],
        "task_type": things["task_type"],
        "fact": {"subject": new("subject"), "predicate": new("predicate"), "object": new("object")},
        "caused_by": [cause["memory"]["id"]],
        "idempotency_key": things["key"],
        "tier": "semantic",
    }
    memory: Reply = (await owner.ask("store", pool=pool, session_id=things["session"], turn=2, **fields))["memory"]
    content = f"{things['word']} {new('second content')} relay"
    await owner.ask("update", id=memory["id"], expected_version=1, content=content)
    labelled = await owner.ask("store", pool=pool, content=f"labelled {new('labelled')}", labels=[things["label"]])
    gone = await owner.ask("store", pool=pool, content=f"archived {new('archived')}")
    await owner.ask("forget", ids=[gone["memory"]["id"]], reason=new("reason"))
    for each in (cause["memory"], memory, labelled["memory"], gone["memory"]):
        markers.add(each["id"], f"{name}: memory id")
    return memory


async def _rejected_item(owner: Agent, secret: str) -> None:
    """Something for the dead letters and for the owner's own subject of rejections."""
    heard = await owner.nc.subscribe(f"afterwit.v1.rejected.{owner.name}")
    await owner.nc.flush()
    refused = json.dumps({"content": secret, "turn": -1}).encode()
    await owner.nc.request(f"afterwit.v1.ingest.{owner.name}.agent.{owner.name}", refused, timeout=30)
    assert secret in (await heard.next_msg(timeout=30)).data.decode()
    await heard.unsubscribe()


async def stir(hidden: Hidden, markers: Markers, pools: tuple[str, ...] | None = None) -> None:
    """Have the owner do one of everything that tells somebody something, with the words that the intruder uses too."""
    owner, things = hidden.owner, hidden.things
    for pool in pools or (owner.pool, things.pool):
        text = f"relay tide harbour {markers.new('stirred')}"
        memory = (await owner.ask("store", pool=pool, content=text, tags=["tide"], entities=["Harbour"]))["memory"]
        markers.add(memory["id"], "stirred: memory id")
        await owner.ask("update", id=memory["id"], expected_version=1, content=f"{text} again")
        await owner.ask("link", source=memory["id"], target=things.private_id, rel="related_to")
        await owner.ask("forget", ids=[memory["id"]], reason=markers.new("stirred: reason"))


async def gone(agent: Agent, pool: str) -> None:
    """Wait until ``pool`` is not there for ``agent``.

    Asked over MCP: what is under way over NATS is lost when the connection is ended.
    """

    async def refused() -> bool:
        try:
            await agent.tool("memory_changes", pools=[pool])
        except Refused as e:
            return e.code == "not_found"
        return False

    await wait_until(refused, description=f"{pool} is gone for {agent.name}")
