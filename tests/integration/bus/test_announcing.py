"""Telling of changes on a real server: once, in order, also to those who listen."""

from __future__ import annotations

import asyncio
import random

import msgspec
import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext

from afterwit.bus import names
from afterwit.bus.announcing import Announcer
from afterwit.bus.log import Log
from afterwit.bus.notices import Notices
from afterwit.schemas import LogEntry, Notice, Unavailable
from tests.engines.nats_server import NatsServer
from tests.engines.waiting import wait_until
from tests.samples import entry, next_version


async def appended(log: Log, new: LogEntry, *, expected_seq: int = 0) -> LogEntry:
    seq = await log.append(new, expected_seq=expected_seq)
    return msgspec.structs.replace(new, memory=msgspec.structs.replace(new.memory, seq=seq))


async def versions_of(log: Log, count: int) -> list[LogEntry]:
    versions = [await appended(log, entry(tier="episodic"))]
    for number in range(1, count):
        tier = "semantic" if number % 2 else "episodic"  # the tier stands in the notice's subject, and changes
        after = next_version(versions[-1], tier=tier)
        versions.append(await appended(log, after, expected_seq=versions[-1].memory.seq or 0))
    return versions


@pytest.mark.parametrize("seed", range(3))
async def test_four_tellers_of_shuffled_versions(nc: Client, js: JetStreamContext, seed: int) -> None:
    log, notices, chance = Log(nc), Notices(nc, js), random.Random(seed)  # noqa: S311  # not a secret
    heard: list[Notice] = []
    subscription = await notices.subscribe(heard.append)
    memories = [await versions_of(log, 12) for _ in range(5)]
    dealt = [version for versions in memories for version in versions] * 2
    chance.shuffle(dealt)

    async def tell(share: list[LogEntry]) -> None:
        announcer = Announcer.on(nc, log)
        while share:
            batch, share = share[:7], share[7:]
            await announcer.announce(batch)

    await asyncio.gather(*(tell(dealt[n::4]) for n in range(4)))
    kept, _ = await notices.since(["agent/alice"], None, 1000, 0)
    for versions in memories:
        id = versions[0].memory.id
        assert [notice.version for notice in kept if notice.id == id] == list(range(1, 13))
        assert [notice.seq for notice in kept if notice.id == id] == [version.memory.seq for version in versions]
    await wait_until(lambda: len(heard) >= len(kept), description="listeners have heard them")
    assert heard == kept, "listeners hear what is kept, in its order, and nothing else"
    await subscription.unsubscribe()


async def test_a_refused_notice_is_heard_by_nobody(nc: Client, js: JetStreamContext) -> None:
    log, notices = Log(nc), Notices(nc, js)
    heard: list[Notice] = []
    subscription = await notices.subscribe(heard.append)
    one, two = await versions_of(log, 2)
    announcer = Announcer.on(nc, log)
    await announcer.announce([one, two])
    await announcer.announce([one])
    await announcer.announce([await appended(log, entry())])
    await wait_until(lambda: len(heard) == 3, description="the last one is heard")
    assert [notice.version for notice in heard] == [1, 2, 1]
    await subscription.unsubscribe()


async def test_telling_goes_on_over_a_crash_of_the_server(
    nats_server: NatsServer, nc: Client, js: JetStreamContext
) -> None:
    log = Log(nc)
    memories = [await versions_of(log, 3) for _ in range(20)]

    async def tell(versions: list[LogEntry]) -> None:
        for version in versions:
            while True:
                try:
                    await Announcer.on(nc, log).announce([version])
                    break
                except Unavailable:
                    await asyncio.sleep(0.05)

    telling = asyncio.gather(*map(tell, memories))
    await asyncio.to_thread(nats_server.kill)
    await asyncio.to_thread(nats_server.start)
    await telling
    kept, _ = await Notices(nc, js).since(["agent/alice"], None, 1000, 0)
    for versions in memories:
        assert [n.version for n in kept if n.id == versions[0].memory.id] == [1, 2, 3]
    assert (await js.stream_info(names.CHANGES)).state.messages == 60
