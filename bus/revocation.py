"""Something was taken from an agent: parts that keep connections or streams of it look again, and say when they have.

The announcement makes revocation quick. It is not what makes it sure: whoever passes something on to an agent reads,
each time, whether the agent may have it (ADR 002). So a part that is away, or stands still, lets nothing through later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from ..schemas import AfterwitError, Unavailable
from . import names
from .connection import unsubscribe

WITHIN_S: Final = 2.0
_FIRST_ANSWER_S: Final = 0.5
_FURTHER_ANSWERS_S: Final = 0.1
"""How many parts there are, nobody knows: they answer in milliseconds, so a pause is the end."""

log = logging.getLogger(__name__)


async def announce(nc: Client, agent: str, *, within_s: float = WITHIN_S) -> int:
    """Tell all parts to look again at what ``agent`` may have, and wait until they did; how many answered.

    Call it after the change was written.

    Raises:
        Unavailable: NATS is away.
    """
    answers: asyncio.Queue[Msg] = asyncio.Queue()
    inbox = nc.new_inbox()
    count, wait_s = 0, _FIRST_ANSWER_S
    try:
        subscription = await nc.subscribe(inbox, cb=answers.put)
        try:
            await nc.publish(names.revoked(agent), b"", reply=inbox)
            async with asyncio.timeout(within_s):
                while True:
                    async with asyncio.timeout(wait_s):
                        answer = await answers.get()
                    if not answer.data:  # the server's word for "nobody listens there"
                        break
                    count, wait_s = count + 1, _FURTHER_ANSWERS_S
        except TimeoutError:
            pass  # no more come
        finally:
            await unsubscribe(subscription)
    except NatsError as e:
        raise Unavailable(f"the other parts could not be told that {agent} lost something: {e}") from e
    return count


async def hear(nc: Client, look_again: Callable[[str], Awaitable[None]]) -> Subscription:
    """Call ``look_again`` with each agent that lost something, and answer when it returns; `unsubscribe()` ends it."""

    async def take(msg: Msg) -> None:
        agent = names.parse_revoked(msg.subject)
        try:
            await look_again(agent)
            if msg.reply:
                await msg.respond(b"done")
        except (AfterwitError, NatsError) as e:
            log.warning("could not look again at what %s may have: %s", agent, e)

    subscription = await nc.subscribe(names.REVOKED_SUBJECTS, cb=take)
    await nc.flush()
    return subscription
