"""A month of use, with the clock in our hands; and workers that die, are cancelled, or meet a bad job."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from nats.aio.client import Client
from nats.js import JetStreamContext

from afterwit.bus import names
from afterwit.bus.dead_letters import DeadLetters
from afterwit.bus.identity import Agents
from afterwit.bus.jobs import Job, Jobs
from afterwit.bus.rpc import Requester
from afterwit.memory_node import node
from afterwit.memory_node.ids import derived_id, new_id
from afterwit.memory_node.pool_health import hint_of
from afterwit.memory_node.settings import NodeSettings
from afterwit.schemas import (
    EndSession,
    Get,
    Health,
    History,
    ListMemories,
    Memory,
    NotFound,
    Pools,
    PoolSet,
    Reflect,
    Retention,
    Store,
    StoreMany,
    Update,
)
from tests.embedders import WordEmbedder
from tests.engines.chat_service import Said, chat_service
from tests.engines.nats_server import NatsServer
from tests.engines.waiting import wait_until

START = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


@dataclass
class Clock:
    now: datetime = START

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Bus:
    requester: Requester
    jobs: Jobs
    clock: Clock = field(default_factory=Clock)

    async def ask(self, request: Any) -> Any:
        named: dict[type, str] = {ListMemories: "list", EndSession: "end_session"}
        op = named.get(type(request), type(request).__name__.lower())
        reply = await self.requester.call("alice", op, request, timeout_s=90)
        while isinstance(request, Reflect) and request.wait and reply.state in {"queued", "running"}:
            later = await self.requester.call("alice", op, Reflect(job_id=reply.job_id, wait=True), timeout_s=90)
            reply = msgspec.structs.replace(later, episode=reply.episode)
        return reply

    async def everything(self) -> list[Memory]:
        found: list[Memory] = []
        cursor: str | None = None
        while True:
            page = await self.ask(ListMemories(pool="agent/alice", cursor=cursor))
            found += [version.memory for version in page.versions]
            if page.cursor is None:
                return found
            cursor = page.cursor

    async def looked_after(self) -> None:
        """One scheduled job for alice's pool, done."""
        id = derived_id("test", self.clock.now.isoformat())
        await self.jobs.submit(Job(id=id, agent="alice", trigger="schedule", at=self.clock.now, pool="agent/alice"))

        async def done() -> bool:
            found = await self.jobs.get(id)
            return found is not None and found[0].state == "done"

        await wait_until(done, description="the pool is looked after")


@pytest_asyncio.fixture
async def bus(nc: Client, nats_server: NatsServer, valkey: str, tmp_path: Path) -> AsyncIterator[Bus]:
    settings = NodeSettings(
        nats_url=nats_server.url,
        redis_url=valkey,
        data_dir=tmp_path / "data",
        visible_within_s=60.0,
        reflect_on_schedule=False,
    )
    clock = Clock()
    async with node.running(settings, clock=clock, embedder=WordEmbedder()):
        await Agents(nc, now=clock).add("alice")
        yield Bus(Requester(nc), Jobs(nc), clock)


async def test_in_a_month_the_pool_levels_off_and_loses_nothing(bus: Bus) -> None:
    pinned = (
        await bus.ask(Store(content="The key of the depot is under the stone.", pinned=True, importance=0.1))
    ).memory
    for value in ("4417", "9020"):
        fact = {"subject": "depot gate", "predicate": "code", "object": value}
        await bus.ask(
            msgspec.convert({"content": f"The code of the gate is {value}.", "fact": fact, "kind": "fact"}, Store)
        )
    counts, disputed = [], []
    for day in range(60):
        bus.clock.now = START + timedelta(days=day)
        for n in range(6):
            await bus.ask(
                Store(content=f"day {day}, step {n}: looked at shelf {n * day}", kind="tool_call", importance=0.2)
            )
        if day % 5 == 4:
            await bus.looked_after()
            health = await bus.ask(Health(pool="agent/alice"))
            counts.append(health.active)
            disputed.append(health.open_conflicts)
            assert hint_of("agent/alice", health) is None, "the pool does well"
    assert set(disputed) == {2}
    assert counts[-1] <= 1.15 * counts[-4], f"it goes on growing: {counts}"
    everything = await bus.everything()
    by_id = {memory.id: memory for memory in everything}
    assert by_id[pinned.id].status == "active"
    assert sum(memory.status == "disputed" for memory in everything) == 2
    archived = [memory for memory in everything if memory.status == "archived"]
    assert len(archived) > 100
    for memory in archived:
        back = (await bus.ask(Update(id=memory.id, expected_version=memory.version, status="active"))).memory
        assert (back.status, back.content) == ("active", memory.content)


async def test_a_long_session_is_told_whole_by_way_of_its_parts(bus: Bus) -> None:
    """A memory has room for 256 links: the episode is drawn from summaries, and those from the turns."""
    turns = range(1, 421)
    ids: list[str] = []
    for start in range(0, len(turns), 210):
        items = [
            {"content": f"Never open valve {turn}.", "kind": "user_input", "session_id": "long", "turn": turn}
            for turn in turns[start : start + 210]
        ]
        stored = await bus.requester.call("alice", "store_many", StoreMany(items=tuple(items)), timeout_s=90)
        ids += [result.memory.id for result in stored.results]

    ended = await bus.ask(Reflect(session_id="long", end_session=True, wait=True))

    assert ended.state == "done", ended
    assert len(ended.operations) <= 64
    assert {each.result for each in ended.operations} == {"applied"}
    parts = [(await bus.ask(Get(id=link.target))).memory for link in ended.episode.links]
    assert [link.target for part in parts for link in part.links] == ids
    assert all(f"valve {turn}." in "".join(part.content for part in parts) for turn in turns)
    again = await bus.ask(Reflect(session_id="long", end_session=True, wait=True))
    assert (again.job_id, again.episode) == (ended.job_id, ended.episode)


async def test_what_expires_is_archived_on_time(bus: Bus) -> None:
    memory = (
        await bus.ask(Store(content="The lift is closed until noon.", expires_at=START + timedelta(hours=4)))
    ).memory
    await bus.looked_after()
    assert (await bus.ask(Get(id=memory.id))).memory.status == "active"

    bus.clock.now = START + timedelta(hours=5)
    await bus.looked_after()

    assert (await bus.ask(Get(id=memory.id))).memory.status == "archived"


async def test_duplicates_are_merged_with_their_evidence_and_can_be_brought_back(bus: Bus) -> None:
    """The reason stands in the history of both; and what somebody brought back is not taken away again."""
    said = ("The night shift ends at 6:00 in the mill.", "In the mill the night shift ends at 6:00.")
    fields = {"kind": "fact", "tier": "semantic", "confidence": 0.9}
    first, again = [
        (await bus.ask(msgspec.convert({"content": content, "session_id": f"s{n}", **fields}, Store))).memory
        for n, content in enumerate(said)
    ]
    other = (await bus.ask(Store(content="The day shift ends at 14:00 in the mill.", kind="fact"))).memory
    planned = await bus.ask(Reflect(pool="agent/alice", dry_run=True, wait=True))
    assert {each.result for each in planned.operations} == {"planned"}

    done = await bus.ask(Reflect(pool="agent/alice", wait=True))

    assert done.state == "done", done
    gone = (await bus.ask(Get(id=again.id))).memory
    stays = (await bus.ask(Get(id=first.id))).memory
    assert (gone.status, stays.status) == ("archived", "active")
    assert again.id in {link.target for link in stays.links}
    assert (stays.evidence.supporting, stays.confidence, stays.trust) == (1, 0.9, first.trust)
    assert (await bus.ask(Get(id=other.id))).memory.status == "active"
    why = (await bus.ask(History(id=again.id))).versions[-1]
    assert why.actor == "reflection"
    assert first.id in why.reason
    assert (await bus.ask(Health(pool="agent/alice"))).duplicates == 0

    back = await bus.ask(Update(id=again.id, expected_version=gone.version, status="active"))
    await bus.looked_after()
    assert (await bus.ask(Get(id=again.id))).memory == back.memory
    assert (await bus.ask(Health(pool="agent/alice"))).duplicates == 1


async def test_a_pool_is_kept_as_long_as_its_owner_says(bus: Bus) -> None:
    pools = PoolSet(pool="agent/alice", retention_days=Retention(episodic=3))
    await bus.requester.call("alice", "pool_set", pools)
    (info,) = (await bus.ask(Pools())).pools
    assert info.retention_days == Retention(episodic=3)
    event = (await bus.ask(Store(content="The lift was mended.", importance=1.0))).memory
    fact = (await bus.ask(Store(content="The lift has four doors.", tier="semantic", kind="fact"))).memory
    pinned = (await bus.ask(Store(content="The lift is for staff.", pinned=True))).memory

    bus.clock.now = START + timedelta(days=4)
    await bus.looked_after()

    statuses = [(await bus.ask(Get(id=each.id))).memory.status for each in (event, fact, pinned)]
    assert statuses == ["archived", "active", "active"]
    assert "its pool keeps it for 3 days" in (await bus.ask(History(id=event.id))).versions[-1].reason


async def test_a_session_of_nothing_but_an_episode_can_be_ended(bus: Bus) -> None:
    """Agents may store what they like, such as an episode that they told themselves."""
    told = "We moved the depot to the north gate, and it went well."
    await bus.ask(Store(content=told, session_id="told", turn=1, kind="episode"))
    ended = await bus.ask(Reflect(session_id="told", end_session=True, wait=True))
    assert ended.state == "done", ended
    assert "north gate" in ended.episode.content


async def test_a_job_that_comes_again_changes_nothing(bus: Bus, js: JetStreamContext) -> None:
    for turn, content in enumerate(("Please never call the customer before noon.", "Noted."), 1):
        kind, source = ("user_input", "user") if turn == 1 else ("final_answer", "agent")
        await bus.ask(Store(content=content, session_id="s", turn=turn, kind=kind, source=source))  # type: ignore[arg-type]
    ended = await bus.ask(Reflect(session_id="s", end_session=True, wait=True))
    assert ended.state == "done", ended
    before = {memory.id: memory.version for memory in await bus.everything()}
    found = await bus.jobs.get(ended.job_id)
    assert found is not None

    # As after a worker's death between the last effect and the record that says so.
    record, revision = found
    await bus.jobs.save(msgspec.structs.replace(record, state="running", results=()), revision)
    await js.publish(names.job(names.REFLECT, "triggered", record.job.id), msgspec.json.encode(record.job))

    async def done() -> bool:
        again = await bus.jobs.get(ended.job_id)
        return again is not None and again[0].state == "done"

    await wait_until(done, description="the job is done again")
    assert {memory.id: memory.version for memory in await bus.everything()} == before


async def test_a_job_of_somebody_else_is_not_there(bus: Bus) -> None:
    job = Job(id=new_id(), agent="bob", trigger="asked", at=START, pool="agent/bob")
    await bus.jobs.submit(job)
    with pytest.raises(NotFound):
        await bus.ask(Reflect(job_id=job.id))


async def test_what_is_no_job_becomes_a_dead_letter(bus: Bus, js: JetStreamContext) -> None:
    await js.publish(names.job(names.REFLECT, "asked", new_id()), b"{}")

    async def buried() -> bool:
        return any(letter.what == "job" for letter in await DeadLetters(js).page(0, 10))

    await wait_until(buried, description="it is a dead letter")


async def test_a_hostile_model_is_refused_and_one_in_trouble_is_asked_again(
    nc: Client, nats_server: NatsServer, valkey: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("afterwit.memory_node.reflection.worker._RETRY_S", 0.01)
    said = Said()
    with chat_service([said]) as service:
        settings = NodeSettings(
            nats_url=nats_server.url,
            redis_url=valkey,
            data_dir=tmp_path / "data",
            inference_url=service.url,
            reflection_model="reflector",
        )
        async with node.running(settings, embedder=WordEmbedder()):
            for name in ("alice", "bob"):
                await Agents(nc).add(name)
            bus, requester = Bus(Requester(nc), Jobs(nc)), Requester(nc)
            theirs = (await requester.call("bob", "store", Store(content="Bob's secret plan."))).memory
            event = (
                await bus.ask(
                    Store(content="Never call before noon.", session_id="s", kind="user_input", source="user")
                )
            ).memory
            cited = {"evidence": [event.id], "because": "it says so"}
            asked = [
                {"op": "store", "content": "No calls before noon.", "kind": "preference", **cited},
                {"op": "store", "content": "x", "kind": "fact", "evidence": [theirs.id], "because": "it says so"},
                {"op": "update", "id": theirs.id, "content": "overwritten", **cited},
                {"op": "forget", "id": theirs.id, **cited},
                {"op": "link", "source": event.id, "target": theirs.id, "rel": "supports", **cited},
                {"op": "store", "content": "y", "kind": "fact", "evidence": [new_id()], "because": "made up"},
            ]
            service.script[:] = [Said(msgspec.json.encode({"operations": asked}).decode())]

            job = await bus.ask(Reflect(session_id="s", wait=True))

            assert job.state == "done", job
            assert [each.result for each in job.operations] == ["applied", *["refused"] * 5]
            kept = (await bus.ask(Get(id=job.operations[0].id))).memory
            assert kept.data["reflector"] == "model/reflector reflect.1"
            assert (await requester.call("bob", "get", Get(id=theirs.id))).memory == theirs

            service.script[:] = [Said("not JSON at all")]
            assert (await bus.ask(Reflect(session_id="s", wait=True))).state == "dead"
            before = await bus.everything()
            assert kept in before

            over = (await bus.ask(Store(content="The lift is closed until noon.", expires_at=START))).memory
            await bus.looked_after()
            assert (await bus.ask(Get(id=over.id))).memory.status == "archived", "that needs no model"
            before = await bus.everything()

            service.script[:] = [Said(status=500)]
            given_up = await bus.ask(Reflect(session_id="s", wait=True))
            assert (given_up.state, given_up.operations) == ("dead", ())
            assert await bus.everything() == before, "nothing is done by halves"

            wish = {"op": "store", "content": "No calls on Mondays.", "kind": "preference", **cited}
            good = msgspec.json.encode({"operations": [wish]}).decode()
            cut = Said(good[:40], finish_reason="length")
            service.script[:] = [Said(status=500), Said(status=429), cut, Said(good)]
            done = await bus.ask(Reflect(session_id="s", wait=True))
            assert [each.result for each in done.operations] == ["applied"], done
            after = await bus.everything()
            assert [memory.content for memory in after if memory not in before] == ["No calls on Mondays."]
