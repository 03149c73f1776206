"""MCP over standard input and output, for one agent, with its own NATS credentials."""

from __future__ import annotations

from mcp.server.stdio import stdio_server

from ...schemas import Invalid, Pools, PoolsReply
from .. import names
from ..connection import Connection, Credentials, connect
from ..identity import agent_of
from ..rpc import Requester
from ..tls import Tls
from .access import NodeAccess
from .agent_feed import AgentFeed
from .hub import Hub
from .node import Node
from .server import build_server


async def serve_stdio(agent: str, nats_url: str, token: str, *, tls: Tls | None = None) -> None:
    """Serve ``agent`` until standard input ends. Nothing but the protocol goes to standard output.

    Raises:
        Invalid: the token is another agent's.
        Unauthenticated: NATS does not accept the token.
        Unavailable: no NATS server answered.
    """
    if agent_of(token) != agent:
        raise Invalid(f"the token is not that of {agent}: give the one that `afterwit agent add` showed", field="token")

    async def connection() -> Connection:
        credentials = Credentials(token=token)
        return await connect(
            nats_url, name=f"afterwit mcp {agent}", credentials=credentials, inbox_prefix=names.inbox(agent), tls=tls
        )

    nc = await connection()
    node = Node(Requester(nc))

    async def readable() -> frozenset[str]:
        return frozenset(info.pool for info in (await node.ask(agent, Pools(), PoolsReply)).pools)

    feed = AgentFeed(connection, readable)
    try:
        async with Hub(feed, NodeAccess(node), node) as hub:
            feed.on_gap = lambda: hub.spawn(hub.announce_gap())
            server = build_server(node, hub, lambda: agent)
            async with stdio_server() as (requests, replies):
                await server.run(requests, replies, server.create_initialization_options())
            feed.on_gap = None
    finally:
        await feed.close()
        await nc.close()
