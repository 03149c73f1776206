"""The command group: which commands there are, and where each is defined."""

from __future__ import annotations

import importlib
import keyword
import sys
from typing import Final

import click

from ... import __version__

_HOME_OF: Final = {
    "up": "serving",
    "node": "serving",
    "gateway": "serving",
    "mcp": "serving",
    "secrets": "containers",
    "healthcheck": "containers",
    "agent": "agents",
    "pool": "pools",
    "store": "memories",
    "retrieve": "memories",
    "explain": "explaining",
    "trace": "memories",
    "history": "memories",
    "forget": "memories",
    "watch": "watching",
    "ingest": "ingesting",
    "export": "moving",
    "import": "moving",
    "audit": "moving",
    "purge": "purging",
    "rebuild": "operating",
    "reindex": "operating",
    "dead": "operating",
    "doctor": "doctor",
    "demo": "demo",
}
"""Which module of this package defines a command."""


class _Commands(click.Group):
    """Loads a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_HOME_OF)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        home = _HOME_OF.get(cmd_name)
        if home is None:
            return None
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        command = getattr(importlib.import_module(f"{__package__}.{home}"), name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="afterwit")
def cli() -> None:
    """A shared memory bus for agents: private and shared pools, over MCP and NATS.

    \b
    afterwit up --agent alice        start everything on this machine
    afterwit store --agent alice "The staging database moved to port 5433."
    afterwit retrieve --agent alice "Where is the staging database?"

    Settings come from options, then from AFTERWIT_… variables. The data directory is ~/.afterwit unless --data-dir
    or AFTERWIT_DATA_DIR names another.
    """  # noqa: D301  # \\b is click's sign for a paragraph that stays as it is


def main() -> None:
    """The console script."""
    cli(prog_name="afterwit")
    sys.exit(0)
