"""When all is over: wait until everything has caught up, and look at what is there."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec
import nats.errors
from nats.aio.client import Client as NatsClient

from afterwit.bus import names
from afterwit.bus.log import Log
from tests.engines.agents import Refused, Reply
from tests.engines.waiting import wait_until

from .checker import UNDERSTOOD
from .doors import Asking, NoAnswer
from .history import Found, Version, is_whole
from .load import GROUP, QUERY

CAUGHT_UP_WITHIN_S: Final = 60.0


async def settled(nc: NatsClient) -> None:
    """Wait until nothing is under way in the ingest stream and the indexer has handled the whole log."""
    js = nc.jetstream()

    async def quiet() -> bool:
        try:
            waiting = (await js.stream_info(names.INGEST)).state.messages
            consumer = await js.consumer_info(names.LOG, names.INDEXER)
        except (nats.errors.Error, OSError):  # a server that is just starting
            return False
        return not (waiting or consumer.num_pending or consumer.num_ack_pending)

    await wait_until(quiet, description="everything is indexed", timeout_s=CAUGHT_UP_WITHIN_S)


async def versions_in_log(nc: NatsClient, pool: str, *, replicas: int = 1) -> list[Version]:
    """Every version of every memory of the pool, in the order of the log, each where it came in first."""
    versions: list[Version] = []
    again: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    async for record in Log(nc, replicas=replicas).replay():
        memory = record.entry.memory
        if memory.pool != pool:
            continue
        if record.entry.again:
            again[memory.id, memory.version].append(record.seq)
            continue
        data = memory.data if isinstance(memory.data, dict) else {}
        versions.append(
            Version(
                id=memory.id,
                version=memory.version,
                seq=record.seq,
                mark=str(data.get("mark")),
                count=int(data.get("count", -1)),
                whole=is_whole(memory.content, data),
            )
        )
    return [msgspec.structs.replace(each, again=tuple(again[each.id, each.version])) for each in versions]


async def found_by_retrieval(asking: Asking, pool: str, groups: Iterable[str]) -> list[Found]:
    """What retrieval finds of each group of memories."""
    found = []
    for group in groups:
        memories = await _retrieved(asking, pool, group)
        assert len(memories) <= GROUP + 5
        found += [Found(id=m["id"], version=m["version"], whole=is_whole(m["content"], m["data"])) for m in memories]
    return found


async def _retrieved(asking: Asking, pool: str, tag: str) -> list[Reply]:
    """Asked until there is an answer that holds nothing back."""
    request = {"query": QUERY, "pools": [pool], "tags": [tag], "top_k": 50, "max_content_length": 65_536}
    deadline = time.monotonic() + CAUGHT_UP_WITHIN_S
    while True:
        try:
            answer = await asking.ask("retrieve", **request)
        except (Refused, NoAnswer) as e:
            if time.monotonic() > deadline or (isinstance(e, Refused) and e.code not in UNDERSTOOD):
                raise
            await asyncio.sleep(0.2)
        else:
            return [item["memory"] for item in answer["items"]]
