"""One allowance on several nodes: what one lets in, the others charge as well."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from nats.aio.client import Client

from afterwit.bus import names
from afterwit.memory_node.quota import Cost, Limits, Quotas
from afterwit.memory_node.sharing_quotas import SharedQuotas
from afterwit.schemas import Quota
from tests.engines.waiting import wait_until

ONE = Cost(requests=1, bytes=10)


async def test_an_allowance_holds_for_all_nodes_together(nc: Client) -> None:
    """Each of two nodes would let in ten; what one has let in is gone on the other, and told once."""
    limits = Limits(requests=10, bytes=1e6, burst_s=1)
    here, there = (Quotas(limits, lambda: 0.0) for _ in range(2))
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for quotas in (here, there):
            group.create_task(SharedQuotas(nc, quotas, every_s=0.01).run(stop))
        await nc.flush()
        for _ in range(7):
            here.admit("alice", ONE)

        def left() -> bool:
            return there._buckets.get("alice") is not None

        await wait_until(left, description="the other node has heard of it")
        await nc.publish(names.SPENT, b"no words of ours")
        let_in = 0
        with suppress(Quota):
            while True:
                there.admit("alice", ONE)
                let_in += 1
        assert let_in == 4, "three are left, and one more passes that is owed"
        there.admit("bob", ONE)
        await wait_until(lambda: "bob" in here._buckets, description="it is told the other way round")
        assert here.reserve("alice", ONE) > 0
        stop.set()


async def test_what_was_let_in_elsewhere_is_not_told_again() -> None:
    quotas = Quotas(Limits(requests=10), lambda: 0.0)
    quotas.charge("alice", ONE)
    assert quotas.spent() == {}
    quotas.admit("alice", ONE)
    quotas.admit("alice", Cost(requests=2))
    assert quotas.spent() == {"alice": Cost(requests=3, bytes=10)}
    assert quotas.spent() == {}
