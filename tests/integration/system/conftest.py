"""What tests of the running product need beside the agents."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from nats.aio.client import Client

from afterwit.bus import names
from afterwit.bus.connection import Credentials, connect
from tests.engines.system import System
from tests.engines.waiting import wait_until


@pytest_asyncio.fixture
async def operator(no_leaked_tasks: None, afterwit: System) -> AsyncIterator[Client]:
    """A connection that may see everything, to look at what agents cannot."""
    credentials = Credentials.from_file(afterwit.data_dir / "credentials" / "node.json")
    nc = await connect(afterwit.ready.nats, name="test", credentials=credentials)
    yield nc
    await nc.close()


@pytest_asyncio.fixture
async def nothing_stored(operator: Client) -> AsyncIterator[None]:
    """The log must be as long after the test as before it, once all that was ingested has been settled."""
    js = operator.jetstream()

    async def settled() -> int | None:
        ingested = (await js.stream_info(names.INGEST)).state.messages
        return None if ingested else (await js.stream_info(names.LOG)).state.last_seq + 1

    before = await wait_until(settled, description="earlier ingests are settled")
    yield
    assert await wait_until(settled, description="ingests are settled") == before, "something was stored"
