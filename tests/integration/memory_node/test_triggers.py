"""What sets off looking back, the clock in our hands: silence, recurrence, the calendar; and what is called off."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import cast

import msgspec
import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext

from afterwit.bus import names
from afterwit.bus.identity import Agents, PoolRegistry
from afterwit.bus.jobs import Jobs
from afterwit.bus.rpc import Requester
from afterwit.memory_node import node
from afterwit.memory_node.ids import derived_id
from afterwit.memory_node.index import Index, IndexFilter
from afterwit.memory_node.reflection import triggers
from afterwit.memory_node.reflection.episodes import Episodes
from afterwit.memory_node.reflection.gathering import Gathering
from afterwit.memory_node.reflection.switches import Switches
from afterwit.memory_node.reflection.triggers import Everybody, Triggers
from afterwit.memory_node.settings import NodeSettings
from afterwit.schemas import (
    Context,
    EndSession,
    ListMemories,
    LogEntry,
    Memory,
    Reflect,
    Store,
    Unavailable,
)
from tests.embedders import WordEmbedder
from tests.engines.chat_service import Said, chat_service
from tests.engines.nats_server import NatsServer
from tests.engines.waiting import wait_until
from tests.samples import memory

from .test_looking_after import START, Bus, Clock

IDLE = timedelta(minutes=30)


class Talk(Bus):
    """A node in this process, and alice, who talks to it."""

    async def say(self, session: str, *contents: str) -> list[Memory]:
        """The user's words, each a turn."""
        stored = [
            await self.ask(Store(content=content, session_id=session, turn=turn, kind="user_input", source="user"))
            for turn, content in enumerate(contents, 1)
        ]
        return [reply.memory for reply in stored]

    async def episode(self, session: str) -> Memory | None:
        found = (await self.ask(ListMemories(pool="agent/alice"))).versions
        told = [v.memory for v in found if v.memory.kind == "episode" and v.memory.session_id == session]
        return told[0] if told else None


@pytest.fixture
def settings(nats_server: NatsServer, valkey: str, tmp_path: Path) -> NodeSettings:
    data_dir = tmp_path / "data"
    return NodeSettings(nats_url=nats_server.url, redis_url=valkey, data_dir=data_dir, visible_within_s=60.0)


@asynccontextmanager
async def running(nc: Client, settings: NodeSettings) -> AsyncIterator[Talk]:
    bus = Talk(Requester(nc), Jobs(nc))
    async with node.running(settings, clock=bus.clock, embedder=WordEmbedder()):
        await Agents(nc, now=bus.clock).add("alice")
        yield bus


async def test_a_session_that_goes_quiet_ends_by_itself(
    nc: Client, settings: NodeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triggers, "LOOKS_EVERY_S", 0.02)
    async with running(nc, settings) as bus:
        await bus.say("quiet", "Never call the depot before noon.")
        bus.clock.now += IDLE - timedelta(minutes=10)
        await bus.say("lively", "Never call the mill before one.")

        bus.clock.now += timedelta(minutes=11)
        first = await wait_until(lambda: bus.episode("quiet"), description="the quiet session is told")
        assert first is not None
        assert await bus.episode("lively") is None, "it was heard 11 minutes ago"

        bus.clock.now += IDLE
        assert await wait_until(lambda: bus.episode("lively"), description="so is the other one")
        await bus.say("quiet", "Never call the depot before noon.", "And never after six.")
        bus.clock.now += IDLE

        async def told_again() -> bool:
            episode = await bus.episode("quiet")
            return episode is not None and episode.version > 1

        await wait_until(told_again, description="what came later is told as well")
        again = await bus.episode("quiet")
        assert again is not None
        assert again.id == first.id
        assert "after six" in again.content


async def test_what_recurs_in_a_pool_or_outgrows_its_window_is_looked_at(nc: Client, settings: NodeSettings) -> None:
    async with running(nc, settings) as bus:

        async def set_off() -> list[str]:
            ids = [derived_id("recurrence", "agent/alice", each.id, str(each.version)) for each in episodes]
            found = [record for id in ids if (record := await bus.jobs.get(id))]
            return [record.job.trigger for record, _ in found if record.state == "done"]

        episodes: list[Memory] = []
        for number in range(3):
            session = f"s{number}"
            await bus.say(session, f"Please restart quay-gateway, it hangs again after {number + 3} days.")
            ended = await bus.ask(Reflect(session_id=session, end_session=True, wait=True))
            assert ended.state == "done", ended
            episodes.append(ended.episode)
            assert number == 2 or not await set_off()
        assert await wait_until(set_off, description="the pool is looked at") == ["recurrence"]

        await bus.say("long", *(f"Please count the crates in bay {n}, it has hung {n} times." for n in range(8)))
        assert (await bus.ask(Context(session_id="long", max_tokens=40))).summary
        assert await wait_until(lambda: bus.episode("long"), description="it is told before anything is dropped")


async def test_each_trigger_can_be_switched_off(
    nc: Client, js: JetStreamContext, settings: NodeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triggers, "LOOKS_EVERY_S", 0.02)
    off = msgspec.structs.replace(
        settings,
        **{f"reflect_on_{name}": False for name in ("session_end", "overflow", "recurrence", "schedule", "request")},
    )
    async with running(nc, off) as bus:
        for number in range(3):
            session = f"s{number}"
            await bus.say(session, "Please restart quay-gateway.", *(f"It has hung {n} times." for n in range(8)))
            assert (await bus.ask(Context(session_id=session, max_tokens=40))).summary
            ended = await bus.ask(EndSession(session_id=session))
            assert ended.job_id is None
            assert ended.episode.kind == "episode"
        await bus.say("quiet", "Never call the depot before noon.")
        bus.clock.now += timedelta(days=3)
        with pytest.raises(Unavailable, match="AFTERWIT_REFLECT_ON_REQUEST"):
            await bus.ask(Reflect(session_id="s1"))
        with pytest.raises(Unavailable, match="AFTERWIT_REFLECT_ON_REQUEST"):
            await bus.ask(Reflect(session_id="quiet", end_session=True, dry_run=True))
        assert not await bus.episode("quiet"), "what is refused does nothing"
        ended = await bus.ask(Reflect(session_id="quiet", end_session=True, wait=True))
        assert (ended.job_id, ended.state, ended.episode.kind) == (None, "done", "episode")
        queue = await js.stream_info(names.JOBS)
        assert queue.state.last_seq == 0, "no job was ever queued"


@contextmanager
def released() -> Iterator[threading.Event]:
    """An event that is set at the end, whatever happens: nobody waits for it any more."""
    event = threading.Event()
    try:
        yield event
    finally:
        event.set()


async def test_a_cancelled_job_changes_nothing_any_more(
    nc: Client, js: JetStreamContext, settings: NodeSettings
) -> None:
    with chat_service([Said()]) as service, released() as now:
        model = msgspec.structs.replace(settings, inference_url=service.url, reflection_model="slow", reflect_at_once=1)
        async with running(nc, model) as bus:
            (event,) = await bus.say("s", "Never call before noon.")
            asked = {"op": "store", "content": "x", "kind": "fact", "evidence": [event.id], "because": "it says so"}
            service.script[:] = [Said(msgspec.json.encode({"operations": [asked]}).decode(), when=now)]
            under_way, waiting = [(await bus.ask(Reflect(session_id="s"))).job_id for _ in range(2)]
            await wait_until(lambda: service.requests, description="the model is asked")

            for job in (waiting, under_way):
                assert (await bus.ask(Reflect(job_id=job, cancel=True))).state == "cancelled"
            now.set()

            async def at_rest() -> bool:
                return (await js.stream_info(names.JOBS)).state.messages == 0

            await wait_until(at_rest, description="the queue is empty")
            assert len(service.requests) == 1, "the one that waited was never begun"
            for job in (waiting, under_way):
                assert (await bus.ask(Reflect(job_id=job))).state == "cancelled"
            written = (await bus.ask(ListMemories(pool="agent/alice"))).versions
            assert {each.memory.kind for each in written} <= {"user_input", "episode"}


class OneSession:
    """What `Triggers` asks of a node: one session that nobody has told yet. ``stored`` is what the index has."""

    stored: Sequence[Memory] = ()

    events_ = (memory("Never call before noon.", kind="user_input", session_id="s", created_at=START, seq=7),)

    async def events(self, agent: str, session_id: str) -> Sequence[Memory]:
        return self.events_

    async def find(self, filter: IndexFilter, limit: int) -> list[Memory]:
        return list(self.stored)

    async def is_told(self, agent: str, session_id: str, events: Sequence[Memory]) -> bool:
        return False


async def test_many_nodes_that_look_at_once_queue_each_job_once(nc: Client, js: JetStreamContext) -> None:
    """Without a leader: each sees for itself what is due, and all of them make the same jobs."""
    clock = Clock()
    agents, registry = Agents(nc, now=clock), PoolRegistry(nc, now=clock)
    for name in ("alice", "bob"):
        await agents.add(name)
    await registry.create("shared/ops", "", "bob")
    session = OneSession()

    def a_node() -> tuple[Triggers, Everybody]:
        made = Triggers(
            jobs=Jobs(nc),
            gathering=cast("Gathering", session),
            episodes=cast("Episodes", session),
            index=cast("Index", session),
            clock=clock,
            switches=Switches(),
        )
        made.hear([LogEntry(memory=event, change="created", actor="alice") for event in session.events_])
        return made, Everybody(agents, registry)

    async def queued() -> list[str]:
        found = (await js.stream_info(names.JOBS, subjects_filter=names.JOB_SUBJECTS)).state.subjects or {}
        assert set(found.values()) <= {1}
        return sorted(subject.split(".")[4] for subject in found)

    nodes = [a_node() for _ in range(6)]
    clock.now += IDLE
    await asyncio.gather(*(made.look(everybody) for made, everybody in nodes))
    assert await queued() == ["scheduled"] * 3 + ["triggered"]

    await asyncio.gather(*(made.look(everybody) for made, everybody in (*nodes, a_node())))
    assert len(await queued()) == 4, "nor does one that was started anew"

    clock.now += timedelta(days=1)
    await asyncio.gather(*(made.look(everybody) for made, everybody in nodes))
    assert await queued() == ["scheduled"] * 6 + ["triggered"]


async def test_a_session_that_another_node_heard_ends_as_well(nc: Client, js: JetStreamContext) -> None:
    """That node may be gone: from time to time each looks into the index for what it has not heard itself."""
    clock, session = Clock(), OneSession()
    made = Triggers(
        jobs=Jobs(nc),
        gathering=cast("Gathering", session),
        episodes=cast("Episodes", session),
        index=cast("Index", session),
        clock=clock,
        switches=Switches(schedule=False),
    )
    nobody = Everybody(Agents(nc, now=clock), PoolRegistry(nc, now=clock))

    async def queued() -> int:
        return (await js.stream_info(names.JOBS)).state.messages

    await made.look(nobody)
    session.stored = session.events_
    clock.now += IDLE - timedelta(minutes=1)
    await made.look(nobody)
    assert await queued() == 0

    clock.now += timedelta(minutes=1)
    await made.look(nobody)
    assert await queued() == 1
