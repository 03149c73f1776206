"""`python -m tests.benchmarks.importing URL TOKEN AGENT ITEMS`: an import, in a process of its own as it would be."""

from __future__ import annotations

import asyncio
import sys

import nats

from afterwit.bus import ingest, names

from .corpus import Corpus

_AT_ONCE = 128


async def _published(url: str, token: str, agent: str, items: int) -> None:
    """Publish so many items to the ingest stream, as fast as it takes them."""
    corpus, pool = Corpus(seed=8), f"agent/{agent}"
    nc = await nats.connect(url, token=token, inbox_prefix=names.inbox(agent).encode())
    try:
        js, left = nc.jetstream(), iter(range(items))

        async def publish() -> None:
            for _ in left:
                await ingest.publish(js, agent, pool, corpus.memory(pool))

        await asyncio.gather(*(publish() for _ in range(_AT_ONCE)))
    finally:
        await nc.close()


if __name__ == "__main__":
    url, token, agent, items = sys.argv[1:]
    asyncio.run(_published(url, token, agent, int(items)))
