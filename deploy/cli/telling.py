"""What `afterwit up` tells: for people a panel with what to do next, for programs the ready file's JSON."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from ..data_dir import DataDir
from ..supervisor import Event
from .output import Output

if TYPE_CHECKING:
    from ..ready import Ready

_STYLE = {
    "ready": "green", "died": "bold red", "restarting": "yellow", "failed": "bold red", "untold": "yellow",
    "stopped": "dim",
}  # fmt: skip


class Telling:
    """Prints the course of things: the result on stdout, events on stderr."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._aside = output.aside
        self._told = False

    def event(self, event: Event) -> None:
        """Something happened to a part."""
        if self._output.json:
            return
        detail = f" {event.detail}" if event.what in ("died", "failed", "untold") else ""
        style = _STYLE[event.what]
        self._aside.print(f"[{style}]{event.what:>10}[/]  {event.part.name}  [dim]process {event.pid}[/]", end="")
        self._aside.print(detail, style="dim", markup=False, soft_wrap=True)

    def ready(self, ready: Ready) -> None:
        """All is up. With ``--json`` each new state is a line; people see the panel once."""
        if self._output.json:
            self._output.json_line(ready)
        elif not self._told:
            self._told = True
            self._print_panel(ready)

    def stopping(self) -> None:
        """A signal came."""
        if not self._output.json:
            self._aside.print("[dim]  stopping[/]")

    def _print_panel(self, ready: Ready) -> None:
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold")
        table.add_column(overflow="fold")
        table.add_row("MCP", ready.mcp)
        for url in ready.gateways[1:]:
            table.add_row("", f"{url}/mcp")
        table.add_row("NATS", ready.nats)
        table.add_row("health", ready.health)
        table.add_row("data", Text(ready.data_dir))
        people = self._output.people
        people.print(Panel(table, title="Afterwit is up", title_align="left", expand=False, border_style="green"))
        # Tokens and commands are printed without a frame, so that they can be copied.
        for agent, token in ready.agents.items():
            people.print(Text.assemble("\ntoken of ", (agent, "bold"), ":"))
            people.print(token, soft_wrap=True)
        people.print("\nConnect an MCP host, for example Claude Code:")
        token = next(iter(ready.agents.values()), "TOKEN")
        command = f'claude mcp add --transport http afterwit {ready.mcp} --header "Authorization: Bearer {token}"'
        people.print(command, soft_wrap=True, style="cyan", markup=False)
        people.print("or try it from here:")
        people.print(self._first_command(ready), soft_wrap=True, style="cyan", markup=False)
        people.print("\n[dim]Ctrl-C stops everything. `afterwit doctor` looks for trouble.[/]")

    def _first_command(self, ready: Ready) -> str:
        name = next(iter(ready.agents), None)
        command = (
            f'afterwit store --agent {name} "The staging database moved to port 5433."'
            if name
            else "afterwit agent add NAME"
        )
        if str(DataDir.find(None, os.environ).path) != ready.data_dir:
            command += f" --data-dir {shlex.quote(ready.data_dir)}"
        return command
