"""`export`, `import`, `audit`: pools as a whole."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING

import click

from .options import asynchronous, client_options
from .output import Output

if TYPE_CHECKING:
    from ..auditing import Audited
    from ..client import Target

_SHOWN = 20


@click.command()
@click.argument("pools", nargs=-1, metavar="[POOL]...")
@click.option("--history", is_flag=True, help="Every version, not the current ones alone.")
@click.option("--to", "file", type=click.File("wb"), default="-", help="A file; left out: standard output.")
@asynchronous
@client_options
async def export(output: Output, target: Target, pools: tuple[str, ...], history: bool, file: IO[bytes]) -> None:
    """Write everything that you may read in the POOLs as JSON lines; without a POOL, in all of yours."""
    import msgspec

    from ...schemas import ListMemories
    from ...schemas.codec import convert
    from ..client import bus_client
    from ..moving import exported

    count = 0
    named = [convert({"pool": pool}, ListMemories).pool for pool in pools]
    async with bus_client(target) as bus:
        async for version in exported(bus, named, history=history):
            file.write(msgspec.json.encode(version) + b"\n")
            count += 1
    file.flush()
    output.aside.print(f"[dim]{count} lines[/]")


@click.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--pool", metavar="POOL", help="Everything goes here; left out: shared pools stay what they are.")
@click.option("--patience", "patience_s", type=click.FloatRange(1), default=120, show_default=True,
              help="Give up when nothing was stored for so many seconds.")  # fmt: skip
@asynchronous
@client_options
async def import_(output: Output, target: Target, file: IO[bytes], pool: str | None, patience_s: float) -> None:
    """Take in what `afterwit export` wrote into FILE; - is standard input.

    Memories of private pools go to your own. You are the author of what you import; tags say who was before. What was
    archived, superseded or purged is left out. A repeated run adds nothing.
    """
    from rich.markup import escape

    from ...schemas.codec import convert
    from ...schemas.words import PoolName
    from ..client import bus_client
    from ..moving import Import

    checked: str | None = None if pool is None else convert(pool, PoolName)
    async with bus_client(target) as bus:
        summary = await Import(bus, pool=checked, patience_s=patience_s).run(file)
    told = [
        f"{summary.created} imported, {summary.stored - summary.created} known already, {summary.links} links drawn."
    ]
    if summary.left_out:
        told.append(f"{summary.left_out} were archived, superseded or purged, and left out.")
    told += [f"[red]line {r.line}[/]: {r.error.code}: {escape(r.error.message)}" for r in summary.refused[:_SHOWN]]
    output.result(summary, *told)
    if summary.refused:
        sys.exit(1)


@click.command()
@click.argument("what", metavar="POOL|ID")
@asynchronous
@client_options
async def audit(output: Output, target: Target, what: str) -> None:
    """Who changed what, when and why: in a whole POOL, or of the memory ID. With --json one line per version."""
    from ...schemas import History, ListMemories
    from ...schemas.codec import convert
    from ..auditing import audited_memory, audited_pool
    from ..client import bus_client

    asked = convert({"pool": what}, ListMemories) if "/" in what else convert({"id": what}, History)
    async with bus_client(target) as bus:
        if isinstance(asked, History):
            for version in await audited_memory(bus, asked.id):
                _tell(output, version)
        else:
            async for version in audited_pool(bus, asked.pool):
                _tell(output, version)


def _tell(output: Output, version: Audited) -> None:
    if output.json:
        output.json_line(version)
        return
    from rich.text import Text

    at = version.at.astimezone().isoformat(sep=" ", timespec="seconds")
    line = Text.assemble(
        (at, "dim"), f"  {version.actor:<12} {version.change:<10} {version.id} version {version.version}"
    )
    if version.reason:
        line.append(f"  {version.reason}", style="dim")
    output.people.print(line, soft_wrap=True)
