"""`watch`: what changes in the pools that an agent may read, as it happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

import click

from ...schemas import Changes, ChangesReply, Notice, TimedOut, Unavailable
from .options import asynchronous, client_options
from .output import Output

if TYPE_CHECKING:
    from ..client import BusClient, Target

_PAGE: Final = 1000
_WAIT_MS: Final = 5_000
"""Short, since a node that dies in the middle of a wait never answers it."""
_GRACE_S: Final = 5.0
_RETRY_S: Final = 1.0

_STYLE: Final = {
    "created": "green", "updated": "cyan", "restored": "green", "archived": "yellow", "superseded": "yellow",
    "disputed": "bold yellow", "purged": "red",
}  # fmt: skip


@click.command()
@click.argument("pools", nargs=-1, metavar="[POOL]...")
@click.option("--cursor", help="Go on from here: what was missed comes first.")
@click.option("--all", "from_oldest", is_flag=True, help="Begin with the oldest notice kept (a week).")
@click.option("--count", type=click.IntRange(1), help="Stop after so many notices.")
@asynchronous
@client_options
async def watch(
    output: Output, target: Target, pools: tuple[str, ...], cursor: str | None, from_oldest: bool, count: int | None
) -> None:
    """Show changes of memories as they happen, until Ctrl-C.

    With --json each line is {"notice", "cursor"}. Notices that come while the bus is away are shown when it is back.
    """
    from ..client import bus_client

    async with bus_client(target) as bus:
        if cursor is None and not from_oldest:
            cursor = await _newest(bus, pools)
        last = cursor
        if not output.json:
            output.aside.print(f"[dim]Watching {', '.join(pools) or 'all that you may read'}; Ctrl-C ends it.[/]")
        try:
            shown = 0
            async for notice, last in _follow(bus, pools, cursor, output):
                _show(output, notice, last)
                shown += 1
                if shown == count:
                    return
        except asyncio.CancelledError:  # Ctrl-C, which is how this ends
            if last is not None and not output.json:
                output.aside.print(f"\n[dim]Go on with --cursor {last}[/]", soft_wrap=True)


async def _newest(bus: BusClient, pools: tuple[str, ...]) -> str:
    """The cursor behind everything that there is now."""
    cursor: str | None = None
    while True:
        reply = await bus.call("changes", _request(pools, cursor, 0), ChangesReply)
        cursor = reply.cursor
        if not reply.notices:
            return cursor


async def _follow(
    bus: BusClient, pools: tuple[str, ...], cursor: str | None, output: Output
) -> AsyncIterator[tuple[Notice, str | None]]:
    """Notices after ``cursor`` for ever, each with a cursor that misses nothing after it (but may repeat its page)."""
    while True:
        try:
            request = _request(pools, cursor, _WAIT_MS)
            reply = await bus.call("changes", request, ChangesReply, timeout_s=_WAIT_MS / 1000 + _GRACE_S)
        except (Unavailable, TimedOut) as e:
            output.error(e)
            await asyncio.sleep(_RETRY_S)
            continue
        *before, last = reply.notices or (None,)
        for notice in before:
            yield notice, cursor
        cursor = reply.cursor
        if last is not None:
            yield last, cursor


def _request(pools: tuple[str, ...], cursor: str | None, wait_ms: int) -> Changes:
    from ...schemas.codec import convert

    return convert({"pools": pools, "cursor": cursor, "limit": _PAGE, "wait_ms": wait_ms}, Changes)


def _show(output: Output, notice: Notice, cursor: str | None) -> None:
    if output.json:
        output.json_line({"notice": notice, "cursor": cursor})
        return
    style = _STYLE[notice.change]
    at = notice.at.astimezone().strftime("%H:%M:%S")
    output.people.print(
        f"[dim]{at}[/]  [{style}]{notice.change:<10}[/]  {notice.pool}  {notice.id}  "
        f"[dim]version {notice.version} by {notice.actor}[/]",
        soft_wrap=True,
    )
