"""An import through the ingest stream, by a client in a process of its own, as importers are."""

from __future__ import annotations

import asyncio
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import nats
from nats.js import JetStreamContext

from afterwit.bus import ingest, names
from afterwit.bus.identity.parts import NODE
from afterwit.deploy.admin import connected_as
from afterwit.deploy.ready import Ready
from tests.engines.waiting import wait_until

from .corpus import Corpus

IMPORTER: Final = "ida"
AT_ONCE: Final = 128
"""Items on their way to the stream."""
_SETTLED_WITHIN_S: Final = 1800.0
_STILL_S: Final = 3.0
_READY: Final = b"ready\n"


async def imported(system: Ready, items: int, *, seed: int = 8) -> float:
    """Import so many, until all are in the log and can be found; the seconds that it took.

    The importer is connected and has made up what it brings before the clock starts, as the raw engines' floors do.
    """
    words = (system.nats, system.agents[IMPORTER], str(items), str(seed))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.benchmarks.importing", *words), stdin=PIPE, stdout=PIPE
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        assert await process.stdout.readline() == _READY, "the importer failed"
        begun = time.perf_counter()
        process.stdin.close()
        assert await process.wait() == 0, "the importer failed"
    finally:
        if process.returncode is None:
            process.kill()
    async with _operator(system) as js:

        async def settled() -> bool:
            consumer = await js.consumer_info(names.LOG, names.INDEXER)
            waiting = (await js.stream_info(names.INGEST)).state.messages
            return not (waiting or consumer.num_pending or consumer.num_ack_pending)

        await wait_until(settled, description="the import is done", timeout_s=_SETTLED_WITHIN_S)
    return time.perf_counter() - begun


async def at_rest(system: Ready) -> None:
    """Return when nothing comes into the log any more: conflicts of what was imported are looked for afterwards."""
    async with _operator(system) as js:
        seen, since = 0, time.monotonic()

        async def still() -> bool:
            nonlocal seen, since
            newest = (await js.stream_info(names.LOG)).state.last_seq
            if newest != seen:
                seen, since = newest, time.monotonic()
            return time.monotonic() - since > _STILL_S

        await wait_until(still, description="the node has nothing to do", timeout_s=_SETTLED_WITHIN_S)


@asynccontextmanager
async def _operator(system: Ready) -> AsyncIterator[JetStreamContext]:
    credentials = Path(system.data_dir) / "credentials" / f"{NODE}.json"
    async with connected_as(NODE, system.nats, credentials) as nc:
        yield nc.jetstream()


async def _published(url: str, token: str, items: int, seed: int) -> None:
    """Publish so many items to the ingest stream, as fast as it takes them."""
    corpus, pool = Corpus(seed), f"agent/{IMPORTER}"
    requests = [corpus.memory(pool) for _ in range(items)]
    nc = await nats.connect(url, token=token, inbox_prefix=names.inbox(IMPORTER).encode())
    try:
        js, left = nc.jetstream(), iter(requests)

        async def publish() -> None:
            for request in left:
                await ingest.publish(js, IMPORTER, pool, request)

        sys.stdout.buffer.write(_READY)
        sys.stdout.buffer.flush()
        await asyncio.to_thread(sys.stdin.read)  # until whoever started it says when

        await asyncio.gather(*(publish() for _ in range(AT_ONCE)))
    finally:
        await nc.close()


if __name__ == "__main__":
    url, token, items, seed = sys.argv[1:]
    asyncio.run(_published(url, token, int(items), int(seed)))
