"""What runs in containers beside the parts: `secrets` before them, `healthcheck` in them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from .options import asynchronous, command
from .output import Output


@click.command(hidden=True)
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@command
def secrets(output: Output, directory: Path) -> None:
    """Make the secrets and configurations of docker-compose.yml's services under DIRECTORY; present ones stay."""
    from ..containers import write_secrets

    write_secrets(directory, sync_interval=os.environ.get("AFTERWIT_SYNC_INTERVAL") or None)
    output.result({"directory": str(directory)}, f"The secrets are in {directory}.")


@click.command(hidden=True)
@click.argument("part", type=click.Choice(["node", "gateway"]))
@asynchronous
async def healthcheck(output: Output, part: str) -> None:
    """Exit with 0 if the node or gateway of this container serves."""
    serves = await (_node_serves() if part == "node" else _gateway_serves())
    output.result({"serves": serves}, f"The {part} {'serves' if serves else 'does not serve'}.")
    if not serves:
        sys.exit(1)


async def _node_serves() -> bool:
    from ...bus.connection import Credentials, connect
    from ...memory_node.settings import NodeSettings
    from ..probes import node_answers

    settings = NodeSettings.from_env(os.environ)
    credentials = Credentials.from_file(settings.nats_credentials) if settings.nats_credentials else None
    nc = await connect(
        settings.nats_url, name="afterwit healthcheck", credentials=credentials, tls=settings.nats_tls, timeout_s=3.0
    )
    try:
        return await node_answers(nc)
    finally:
        await nc.close()


async def _gateway_serves() -> bool:
    from ...bus.mcp.settings import GatewaySettings
    from ..probes import gateway_health

    port = GatewaySettings.from_env(os.environ).port
    try:
        status, _ = await gateway_health(f"http://127.0.0.1:{port}/health")
    except OSError:
        return False
    return status == 200
