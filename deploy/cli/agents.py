"""`afterwit agent …`: who may use the bus. For the operator of the machine, with the data directory's credentials."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from .options import asynchronous, operator_options
from .output import Output

if TYPE_CHECKING:
    from ..data_dir import DataDir


@click.group()
def agent() -> None:
    """Make agents, and take their rights away. Needs the operator's credentials, in the data directory."""


@agent.command()
@click.argument("name")
@asynchronous
@operator_options
async def add(output: Output, name: str, url: str, data_dir: DataDir) -> None:
    """Make the agent NAME and print its token: it is shown here only."""
    from ...bus.identity import Agents
    from ..admin import operator

    async with operator(url, data_dir, os.environ) as nc:
        token = await Agents(nc).add(name)
    _print_token(output, name, token)


@agent.command()
@click.argument("name")
@click.option(
    "--grace", "grace_s", type=click.FloatRange(0), help="Seconds that the old token lives on; usually a day."
)
@asynchronous
@operator_options
async def rotate(output: Output, name: str, grace_s: float | None, url: str, data_dir: DataDir) -> None:
    """Give the agent NAME a new token. What the old one let in ends with it."""
    from ...bus.identity import GRACE_S, Agents
    from ...bus.revocation import announce
    from ..admin import operator

    async with operator(url, data_dir, os.environ) as nc:
        token = await Agents(nc).rotate(name, GRACE_S if grace_s is None else grace_s)
        if data_dir.kept_token(name) is not None:
            data_dir.keep_token(name, token)
        _print_token(output, name, token)  # whatever comes then: nobody can be shown it again
        await announce(nc, name)  # nodes and gateways learn when the old token ends


@agent.command()
@click.argument("name")
@asynchronous
@operator_options
async def revoke(output: Output, name: str, url: str, data_dir: DataDir) -> None:
    """Make the agent NAME nobody, for good, and end its connections."""
    from ...bus.identity import Agents, disconnect
    from ...bus.identity.parts import SYS
    from ...bus.revocation import announce
    from ...bus.tls import Tls
    from ..admin import connected_as, credentials_file, operator

    async with operator(url, data_dir, os.environ) as nc:
        await Agents(nc).revoke(name)
        ended = 0
        system = credentials_file(SYS, data_dir, os.environ)
        if system is not None:
            async with connected_as(SYS, url, system, Tls.from_env(os.environ)) as nc_sys:
                ended = await disconnect(nc_sys, name)
        await announce(nc, name)  # gateways end its MCP sessions and streams
    data_dir.forget_token(name)
    output.result(
        {"agent": name, "revoked": True, "connections_ended": ended},
        f"{name} is revoked; {ended} NATS connections were ended. Its memories stay.",
    )


@agent.command("list")
@asynchronous
@operator_options
async def list_(output: Output, url: str, data_dir: DataDir) -> None:
    """All agents, revoked ones too."""
    from rich.table import Table

    from ...bus.identity import Agents
    from ..admin import operator

    async with operator(url, data_dir, os.environ) as nc:
        records = await Agents(nc).list()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("agent", "since", "tokens", "state"):
        table.add_column(heading)
    for record in records:
        state = "[red]revoked[/]" if record.revoked_at else "[green]active[/]"
        table.add_row(record.name, f"{record.created_at:%Y-%m-%d}", str(len(record.tokens)), state)
    plain = [
        {
            "name": record.name,
            "created_at": record.created_at,
            "revoked_at": record.revoked_at,
            "tokens": [{"created_at": token.created_at, "expires_at": token.expires_at} for token in record.tokens],
        }
        for record in records
    ]
    output.result({"agents": plain}, table)


def _print_token(output: Output, name: str, token: str) -> None:
    output.result({"agent": name, "token": token})
    if not output.json:
        output.aside.print(f"The token of [bold]{name}[/], shown here only:")
        output.people.print(token, soft_wrap=True, markup=False)
