"""What an operator asks of a node, and how long it is waited for."""

from __future__ import annotations

import asyncio

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from afterwit.bus import names
from afterwit.bus.admin import AdminServer, Task, ask
from afterwit.schemas import Invalid, TimedOut, TooLarge, Unavailable
from afterwit.schemas.admin import DeadDrop, DeadFailure, DeadReply, IndexContent, Rebuild, RebuildReply
from tests.engines.waiting import wait_until

BUILT = RebuildReply(
    entries=3, took_s=0.1, before=IndexContent(memories=2, checksum="a"), after=IndexContent(memories=2, checksum="a")
)


async def test_who_is_at_work_is_waited_for(nc: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes: silence counts from the last sign of life."""
    done, signs, waits = asyncio.Event(), 0, []
    next_msg = Subscription.next_msg

    async def noted(self: Subscription, wait_s: float | None = 1.0) -> Msg:
        nonlocal signs
        waits.append(wait_s)
        msg = await next_msg(self, wait_s)
        signs += names.AT_WORK in (msg.headers or {})
        return msg

    async def rebuild(request: Rebuild) -> RebuildReply:
        await done.wait()
        return BUILT

    monkeypatch.setattr(Subscription, "next_msg", noted)
    async with AdminServer(nc, {"rebuild": Task(Rebuild, rebuild)}, beat_s=0.05):
        asking = asyncio.create_task(ask(nc, "rebuild", Rebuild(), RebuildReply, timeout_s=3600, silent_s=30))
        await wait_until(lambda: signs >= 5, description="it says several times that it is at work")
        done.set()
        assert await asking == BUILT
        assert set(waits) == {30}
        done.clear()
        with pytest.raises(TimedOut, match=r"within 0\.2 s"):
            await ask(nc, "rebuild", Rebuild(), RebuildReply, timeout_s=0.2)


async def test_who_died_over_it_is_not(nc: Client) -> None:
    """A node that is killed never answers; the hour that a rebuilding may take is not waited for in vain."""
    await nc.subscribe(names.ADMIN_SUBJECTS)
    with pytest.raises(TimedOut, match="no sign of life"):
        await ask(nc, "rebuild", Rebuild(), RebuildReply, timeout_s=3600, silent_s=0.1)


async def test_an_error_and_nobody_are_told(nc: Client) -> None:
    async def refused(request: Rebuild) -> RebuildReply:
        raise Invalid("not now", field="")

    with pytest.raises(Unavailable, match="no memory node"):
        await ask(nc, "rebuild", Rebuild(), RebuildReply, timeout_s=30)
    async with AdminServer(nc, {"rebuild": Task(Rebuild, refused)}):
        with pytest.raises(Invalid, match="not now"):
            await ask(nc, "rebuild", Rebuild(), RebuildReply, timeout_s=30)


async def test_a_reply_that_is_too_large_is_said_to_be(nc: Client) -> None:
    """NATS would not take it, and who asked would wait in vain."""

    async def drop(request: DeadDrop) -> DeadReply:
        return DeadReply(done=(), failed=tuple(DeadFailure(id=id, reason="x" * nc.max_payload) for id in request.ids))

    async with AdminServer(nc, {"dead_drop": Task(DeadDrop, drop)}):
        with pytest.raises(TooLarge, match="ask for less at once") as refused:
            await ask(nc, "dead_drop", DeadDrop(ids=(1,)), DeadReply, timeout_s=30)
    assert refused.value.body.detail["limit_bytes"] < nc.max_payload
