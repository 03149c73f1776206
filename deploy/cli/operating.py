"""`rebuild` and `dead`: what an operator does on the machine on which the bus runs."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from ...schemas import Invalid
from .options import asynchronous, operator_options
from .output import Output

if TYPE_CHECKING:
    import msgspec

    from ...schemas.admin import DeadReply
    from ..data_dir import DataDir

_WITHIN_S: Final = 30.0
_PAGE: Final = 100
"""So many letters fit into one message of a NATS server as it comes (1 MiB), however long their reasons are."""


@click.command()
@click.option(
    "--within", "within_s", type=click.FloatRange(1), default=3600, show_default=True, help="Seconds to wait."
)
@asynchronous
@operator_options
async def rebuild(output: Output, url: str, data_dir: DataDir, within_s: float) -> None:
    """Throw index and windows away and build them anew from the log, while everything goes on.

    Prints a checksum over (id, version, status) of all memories in the index before and after: they are the same if
    nothing was wrong and nothing was written meanwhile.
    """
    from ...schemas.admin import Rebuild, RebuildReply

    reply = await _ask("rebuild", Rebuild(), RebuildReply, url, data_dir, within_s)
    same = "the same" if reply.before == reply.after else "[yellow]different[/]"
    output.result(
        reply,
        f"Built from {reply.entries} log entries in {reply.took_s:.1f} s.",
        f"before: {reply.before.memories:>8} memories  {reply.before.checksum}",
        f"after:  {reply.after.memories:>8} memories  {reply.after.checksum}  {same}",
    )


reindex = rebuild
"""Under its other name."""


@click.group()
def dead() -> None:
    """Dead letters: what could not be processed, kept with the reason."""


@dead.command("list")
@asynchronous
@operator_options
async def list_(output: Output, url: str, data_dir: DataDir) -> None:
    """All dead letters, oldest first. What they hold is not shown."""
    from rich.table import Table
    from rich.text import Text

    letters = await _all(url, data_dir)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("id", "at", "what", "bytes", "subject", "reason"):
        table.add_column(heading, overflow="fold", justify="right" if heading in ("id", "bytes") else "left")
    for letter in letters:
        at = letter.at.astimezone().isoformat(sep=" ", timespec="seconds")
        table.add_row(str(letter.id), at, letter.what, str(letter.size), Text(letter.subject), Text(letter.reason))
    output.result({"letters": letters}, table if letters else "No dead letters.")


@dead.command()
@click.argument("ids", nargs=-1, type=click.IntRange(1), metavar="[ID]...")
@click.option("--all", "every", is_flag=True, help="All that there are now.")
@asynchronous
@operator_options
async def retry(output: Output, url: str, data_dir: DataDir, ids: tuple[int, ...], every: bool) -> None:
    """Have dead letters processed once more; what is under way again is removed here."""
    from ...schemas.admin import DeadRetry

    await _each(output, "dead_retry", DeadRetry, "Retried", url, data_dir, ids, every)


@dead.command()
@click.argument("ids", nargs=-1, type=click.IntRange(1), metavar="[ID]...")
@click.option("--all", "every", is_flag=True, help="All that there are now.")
@asynchronous
@operator_options
async def drop(output: Output, url: str, data_dir: DataDir, ids: tuple[int, ...], every: bool) -> None:
    """Erase dead letters for good."""
    from ...schemas.admin import DeadDrop

    await _each(output, "dead_drop", DeadDrop, "Erased", url, data_dir, ids, every)


async def _each(  # noqa: PLR0913, PLR0917  # what both commands were given
    output: Output,
    what: str,
    request: Any,
    done: str,
    url: str,
    data_dir: DataDir,
    ids: tuple[int, ...],
    every: bool,
) -> None:
    from rich.markup import escape

    from ...schemas.admin import DeadReply

    if bool(ids) == every:
        raise Invalid("give either ids (from `afterwit dead list`) or --all", field="ids")
    wanted = [letter.id for letter in await _all(url, data_dir)] if every else list(ids)
    reply = DeadReply(done=())
    for start in range(0, len(wanted), _PAGE):
        page: DeadReply = await _ask(
            what, request(ids=tuple(wanted[start : start + _PAGE])), DeadReply, url, data_dir, _WITHIN_S
        )
        reply = DeadReply(
            done=reply.done + page.done, unknown=reply.unknown + page.unknown, failed=reply.failed + page.failed
        )
    told = [f"{done}: {len(reply.done)}"]
    told += [f"[yellow]{id}[/]: there is no such dead letter" for id in reply.unknown]
    told += [f"[red]{failure.id}[/]: {escape(failure.reason)}" for failure in reply.failed]
    output.result(reply, *told)
    if reply.unknown or reply.failed:
        sys.exit(1)


async def _all(url: str, data_dir: DataDir) -> list[Any]:
    from ...schemas.admin import DeadList, DeadListReply

    letters: list[Any] = []
    while True:
        request = DeadList(after=letters[-1].id if letters else 0, limit=_PAGE)
        page: DeadListReply = await _ask("dead_list", request, DeadListReply, url, data_dir, _WITHIN_S)
        letters += page.letters
        if len(page.letters) < _PAGE:
            return letters


async def _ask(
    what: str, request: msgspec.Struct, reply: type[Any], url: str, data_dir: DataDir, within_s: float
) -> Any:
    from ...bus.admin import ask
    from ..admin import operator

    async with operator(url, data_dir, os.environ) as nc:
        return await ask(nc, what, request, reply, timeout_s=within_s)
