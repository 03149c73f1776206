"""`afterwit pool …`: shared pools, by an agent that owns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import asynchronous, client_options
from .output import Output

if TYPE_CHECKING:
    from ..client import Target


@click.group()
def pool() -> None:
    """Make shared pools and say who may use them. POOL is shared/<name>."""


@pool.command()
@click.argument("pool")
@click.option("--description", default="", help="What it is for.")
@asynchronous
@client_options
async def create(output: Output, target: Target, pool: str, description: str) -> None:
    """Make POOL; you become its owner."""
    from ...schemas import PoolCreate, PoolReply
    from ...schemas.codec import convert
    from ..client import bus_client

    request = convert({"pool": pool, "description": description}, PoolCreate)
    async with bus_client(target) as bus:
        reply = await bus.call("pool_create", request, PoolReply)
    output.result(reply, f"{reply.pool} is made; {target.agent} is its owner.")


@pool.command()
@click.argument("pool")
@click.argument("agent_name", metavar="AGENT")
@click.argument("role", type=click.Choice(["reader", "writer", "owner"]))
@click.option("--until", metavar="TIME", help="When it ends: RFC 3339 with offset.")
@asynchronous
@client_options
async def grant(output: Output, target: Target, pool: str, agent_name: str, role: str, until: str | None) -> None:
    """Give AGENT a role in POOL."""
    from ...schemas import PoolGrant, PoolReply
    from ...schemas.codec import convert
    from ..client import bus_client

    request = convert({"pool": pool, "agent": agent_name, "role": role, "until": until}, PoolGrant)
    async with bus_client(target) as bus:
        reply = await bus.call("pool_grant", request, PoolReply)
    output.result(reply, f"{agent_name} is {role} of {reply.pool}{f' until {until}' if until else ''}.")


@pool.command()
@click.argument("pool")
@click.argument("agent_name", metavar="AGENT")
@asynchronous
@client_options
async def revoke(output: Output, target: Target, pool: str, agent_name: str) -> None:
    """Take AGENT's role in POOL away, at once."""
    from ...schemas import PoolReply, PoolRevoke
    from ...schemas.codec import convert
    from ..client import bus_client

    request = convert({"pool": pool, "agent": agent_name}, PoolRevoke)
    async with bus_client(target) as bus:
        reply = await bus.call("pool_revoke", request, PoolReply)
    output.result(reply, f"{agent_name} has no role in {reply.pool} any more.")


@pool.command("list")
@asynchronous
@client_options
async def list_(output: Output, target: Target) -> None:
    """The pools that you may see."""
    from rich.table import Table

    from ...schemas import Pools, PoolsReply
    from ...schemas.words import TIERS
    from ..client import bus_client

    async with bus_client(target) as bus:
        reply = await bus.call("pools", Pools(), PoolsReply)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("pool")
    table.add_column("role")
    for heading in (*TIERS, "conflicts"):
        table.add_column(heading, justify="right")
    table.add_column("description", style="dim")
    for info in reply.pools:
        counts = [str(info.counts.get(tier, 0)) for tier in TIERS]
        table.add_row(info.pool, info.role, *counts, str(info.health.open_conflicts), info.description)
    output.result(reply, table)
