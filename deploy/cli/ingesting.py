"""`ingest`: many memories from a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Final

import click

from .options import asynchronous, client_options
from .output import Output

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..client import Target
    from ..ingestion import Summary

_SHOWN: Final = 20


@click.command()
@click.argument("file", type=click.File("rb"))
@click.option("--pool", metavar="POOL", help="For lines without a pool of their own; left out: your private pool.")
@click.option("--patience", "patience_s", type=click.FloatRange(1), default=120, show_default=True,
              help="Give up when nothing was stored for so many seconds.")  # fmt: skip
@asynchronous
@client_options
async def ingest(output: Output, target: Target, file: IO[bytes], pool: str | None, patience_s: float) -> None:
    """Store every line of FILE, a `store` request in JSON each; - is standard input.

    Returns when all can be found. A run that was cut short is run again: nothing is added twice. Lines that were
    refused are shown, and make the exit status 1.
    """
    from ...schemas.codec import convert
    from ...schemas.words import PoolName
    from ..client import bus_client
    from ..ingestion import Ingestion

    checked: str | None = None if pool is None else convert(pool, PoolName)
    async with bus_client(target) as bus:
        with _progress(output, _lines_in(file)) as on_progress:
            ingestion = Ingestion(bus, pool=checked, on_progress=on_progress, patience_s=patience_s)
            summary = await ingestion.run(file)
    _tell(output, summary)
    if summary.refused:
        sys.exit(1)


def _lines_in(file: IO[bytes]) -> int | None:
    """How many lines there are to do; None for what can be read only once."""
    if not file.seekable():
        return None
    count = sum(1 for line in file if line.strip())
    file.seek(0)
    return count


@contextmanager
def _progress(output: Output, total: int | None) -> Iterator[Callable[[Summary], None]]:
    if output.json or not output.aside.is_terminal:
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("storing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=output.aside, transient=True) as progress:
        task = progress.add_task("storing", total=total)
        yield lambda summary: progress.update(task, completed=summary.done)


def _tell(output: Output, summary: Summary) -> None:
    known = summary.stored - summary.created
    people = f"{summary.lines} lines: {summary.created} stored, {known} known already, {len(summary.refused)} refused."
    output.result(summary, people)
    if output.json:
        return
    for refused in summary.refused[:_SHOWN]:
        output.aside.print(f"line {refused.line}: {refused.error.message}", style="red", markup=False, soft_wrap=True)
    if len(summary.refused) > _SHOWN:
        output.aside.print(f"… and {len(summary.refused) - _SHOWN} more; --json shows all", style="red")
