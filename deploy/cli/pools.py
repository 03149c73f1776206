"""`afterwit pool …`: shared pools, by an agent that owns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import asynchronous, client_options
from .output import Output

if TYPE_CHECKING:
    from ..client import Target


_retention_option = click.option(
    "--retention",
    type=(click.Choice(["working", "episodic", "semantic"]), click.IntRange(1, 36_500)),
    metavar="TIER DAYS",
    multiple=True,
    help="Archive this tier's memories so many days after they were last touched; may be repeated.",
)


@click.group()
def pool() -> None:
    """Make shared pools and say who may use them. POOL is shared/<name>."""


@pool.command()
@click.argument("pool")
@click.option("--description", default="", help="What it is for.")
@_retention_option
@asynchronous
@client_options
async def create(
    output: Output, target: Target, pool: str, description: str, retention: tuple[tuple[str, int], ...]
) -> None:
    """Make POOL; you become its owner."""
    from ...schemas import PoolCreate, PoolReply
    from ...schemas.codec import convert
    from ..client import bus_client

    kept = {"retention_days": dict(retention)} if retention else {}
    request = convert({"pool": pool, "description": description, **kept}, PoolCreate)
    async with bus_client(target) as bus:
        reply = await bus.call("pool_create", request, PoolReply)
    output.result(reply, f"{reply.pool} is made; {target.agent} is its owner.")


@pool.command("set")
@click.argument("pool")
@_retention_option
@click.option("--no-retention", is_flag=True, help="Keep every tier for as long as it is needed.")
@asynchronous
@client_options
async def set_(
    output: Output, target: Target, pool: str, retention: tuple[tuple[str, int], ...], no_retention: bool
) -> None:
    """Say how long POOL is kept, in place of what was said before. POOL may be your private one."""
    from ...schemas import PoolReply, PoolSet
    from ...schemas.codec import convert
    from ..client import bus_client

    if bool(retention) == no_retention:
        raise click.UsageError("give --retention for every tier that has an end, or --no-retention if none has")
    request = convert({"pool": pool, "retention_days": dict(retention)}, PoolSet)
    async with bus_client(target) as bus:
        reply = await bus.call("pool_set", request, PoolReply)
    told = ", ".join(f"{tier} memories for {days} days" for tier, days in retention)
    output.result(reply, f"{reply.pool} keeps {told or 'everything as long as it is needed'}.")


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
    """Take AGENT's role in POOL away, at once: as an owner, or your own."""
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
    from rich.text import Text

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
        table.add_row(info.pool, info.role, *counts, str(info.health.open_conflicts), Text(info.description))
    output.result(reply, table)
