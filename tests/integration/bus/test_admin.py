"""What an operator asks of a node, and how long it is waited for."""

from __future__ import annotations

import asyncio

import pytest
from nats.aio.client import Client

from afterwit.bus import names
from afterwit.bus.admin import AdminServer, Task, ask
from afterwit.schemas import Invalid, TimedOut, Unavailable
from afterwit.schemas.admin import IndexContent, Rebuild, RebuildReply

BUILT = RebuildReply(
    entries=3, took_s=0.1, before=IndexContent(memories=2, checksum="a"), after=IndexContent(memories=2, checksum="a")
)


async def test_who_is_at_work_is_waited_for(nc: Client) -> None:
    async def rebuild(request: Rebuild) -> RebuildReply:
        await asyncio.sleep(0.5)
        return BUILT

    async with AdminServer(nc, {"rebuild": Task(Rebuild, rebuild)}, beat_s=0.05):
        assert await ask(nc, "rebuild", Rebuild(), RebuildReply, timeout_s=10, silent_s=0.3) == BUILT
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
        await ask(nc, "rebuild", Rebuild(), RebuildReply, timeout_s=5)
    async with AdminServer(nc, {"rebuild": Task(Rebuild, refused)}):
        with pytest.raises(Invalid, match="not now"):
            await ask(nc, "rebuild", Rebuild(), RebuildReply, timeout_s=5)
