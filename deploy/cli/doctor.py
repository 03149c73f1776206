"""`doctor`: what is wrong here."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

import click

from .options import asynchronous, data_dir_option
from .output import Output

if TYPE_CHECKING:
    from ..data_dir import DataDir

_SIGN: Final = {"ok": "[green]ok  [/]", "warn": "[yellow]warn[/]", "fail": "[bold red]fail[/]"}


@click.command()
@click.option("--server", metavar="URL", help="Look at the bus there.  [AFTERWIT_URL]")
@asynchronous
@data_dir_option
async def doctor(output: Output, server: str | None, data_dir: DataDir) -> None:
    """Look for trouble: versions, settings, rights, ports, engines, nodes, gateways. Status 1 if something fails."""
    from rich.markup import escape

    from ..checks import Doctor

    checks = []
    async for check in Doctor(data_dir, os.environ, server).examine():
        checks.append(check)
        if not output.json:
            output.people.print(f"{_SIGN[check.state]}  [bold]{check.what}[/]  {escape(check.detail)}", soft_wrap=True)
            if check.remedy:
                output.people.print(f"      [cyan]→ {escape(check.remedy)}[/]", soft_wrap=True)
    failed = any(check.state == "fail" for check in checks)
    if output.json:
        output.json_line({"ok": not failed, "checks": checks})
    if failed:
        sys.exit(1)
