"""What agents have used of their allowances, told by each node to the others: an allowance holds for all of them.

Nothing is kept and nobody answers: what a node misses while it is cut off is not counted there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from . import names

log = logging.getLogger(__name__)


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What agents used on ``node`` since it last told: ``(requests, bytes, items)`` by agent."""

    node: str
    by_agent: dict[str, tuple[int, int, int]]


_decoder = msgspec.msgpack.Decoder(Spent)


async def tell(nc: Client, spent: Spent) -> None:
    """Tell the other nodes; while NATS is away nobody hears it."""
    try:
        await nc.publish(names.SPENT, msgspec.msgpack.encode(spent))
    except NatsError as e:
        log.debug("the other nodes are not told what agents use: %s", e)


async def hear(nc: Client, node: str, on_spent: Callable[[Spent], None]) -> Subscription:
    """Call ``on_spent`` with what nodes other than ``node`` tell; `unsubscribe()` ends it."""

    async def heard(msg: Msg) -> None:
        try:
            spent = _decoder.decode(msg.data)
        except msgspec.MsgspecError:
            log.exception("what came on %s says nothing of allowances", msg.subject)
            return
        if spent.node != node:
            on_spent(spent)

    return await nc.subscribe(names.SPENT, cb=heard)
