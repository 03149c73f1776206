"""Making the streams and buckets on a real server."""

from __future__ import annotations

import asyncio

import nats.errors
from nats.aio.client import Client
from nats.js import api

from afterwit.bus import names
from afterwit.bus.connection import connect
from afterwit.bus.streams import STREAMS, ensure_streams, kept_streams
from tests.engines.nats_server import NatsServer
from tests.engines.waiting import wait_until

_DAY_S = 24 * 3600


async def test_streams_are_as_the_contract_says(nc: Client) -> None:
    js = nc.jetstream()
    await ensure_streams(js)
    infos = {info.config.name: info.config for info in await js.streams_info()}
    assert infos.keys() == {
        names.LOG, names.INGEST, names.JOBS, names.CHANGES, names.USAGE, names.DEAD,
        names.kv_stream(names.AGENTS), names.kv_stream(names.POOLS),
        names.kv_stream(names.USEFULNESS), names.kv_stream(names.JOB_RECORDS),
    }  # fmt: skip
    assert all(c.allow_direct for c in infos.values())
    in_memory = {name for name, config in infos.items() if config.storage == "memory"}
    assert in_memory == {names.kv_stream(names.JOB_RECORDS)}  # a plan quotes memories, and those may be purged
    assert (infos[names.LOG].discard, infos[names.LOG].max_age) == ("new", 0)
    assert infos[names.LOG].deny_delete is False
    assert {infos[names.INGEST].retention, infos[names.JOBS].retention} == {"workqueue"}
    assert infos[names.CHANGES].max_age == 7 * _DAY_S
    assert infos[names.USAGE].max_age == 30 * _DAY_S
    assert infos[names.kv_stream(names.POOLS)].max_msgs_per_subject == 1
    bucket = await js.key_value(names.AGENTS)
    await bucket.put("alice", b"record")
    assert (await bucket.get("alice")).value == b"record"


async def test_several_nodes_may_start_at_once_and_again(nats_server: NatsServer, nc: Client) -> None:
    others = [await connect(nats_server.url, name=f"node {n}") for n in range(4)]
    await asyncio.gather(*(ensure_streams(client.jetstream()) for client in (nc, *others)))
    await asyncio.gather(*(ensure_streams(client.jetstream()) for client in (nc, *others)))
    assert len(await nc.jetstream().streams_info()) == len(STREAMS)
    for client in others:
        await client.close()


async def test_existing_streams_are_brought_up_to_date_and_keep_what_an_operator_set(nc: Client) -> None:
    js = nc.jetstream()
    await js.add_stream(
        api.StreamConfig(name=names.CHANGES, subjects=[names.CHANGED_SUBJECTS], max_age=60.0, max_bytes=1_000_000)
    )
    await ensure_streams(js)
    config = (await js.stream_info(names.CHANGES)).config
    assert (config.max_age, config.max_bytes, config.allow_direct) == (7 * _DAY_S, 1_000_000, True)


async def test_streams_can_be_made_while_the_server_is_still_starting(nats_server: NatsServer, nc: Client) -> None:
    await asyncio.to_thread(nats_server.kill)
    making = asyncio.create_task(ensure_streams(nc.jetstream()))
    await asyncio.to_thread(nats_server.start)
    await making
    assert len(await nc.jetstream().streams_info()) == len(STREAMS)


async def test_what_a_restart_of_the_server_ends_is_made_again(nats_server: NatsServer, nc: Client) -> None:
    """A memory stream goes with its server; a node that stayed would never look back again."""
    js = nc.jetstream()
    async with kept_streams(js):
        await asyncio.to_thread(nats_server.restart)

        async def all_are_there() -> bool:
            try:
                return len(await js.streams_info()) == len(STREAMS)
            except nats.errors.Error:
                return False

        await wait_until(all_are_there, description="all streams are there again")
