"""`up`, and the processes that it starts: `node`, `gateway`; `mcp` for hosts that speak stdio."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...schemas import AfterwitError
from ..logs import log_to_stderr
from ..telemetry import export_telemetry
from .options import asynchronous, client_options, command, data_dir_option
from .output import Output

if TYPE_CHECKING:
    from ..client import Target

_PORT = click.IntRange(0, 65_535)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, envvar="AFTERWIT_HOST", help="Listen here.")
@click.option("--port", default=8377, show_default=True, type=_PORT, envvar="AFTERWIT_PORT", help="MCP; 0: a free one.")
@click.option("--nats-port", default=4377, show_default=True, type=_PORT, help="NATS; 0: a free one.")
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Make sure that this agent exists. Repeatable.")
@click.option("--ready-file", type=click.Path(dir_okay=False, path_type=Path), help="Written when all is ready.")
@click.option("--nodes", default=1, show_default=True, type=click.IntRange(1, 64), help="Memory nodes.")
@click.option("--gateways", default=1, show_default=True, type=click.IntRange(1, 64), help="MCP gateways.")
@click.option("--nats-url", envvar="AFTERWIT_NATS_URL", help="Use this NATS.  [AFTERWIT_NATS_URL]")
@click.option("--qdrant-url", envvar="AFTERWIT_QDRANT_URL", help="Use this Qdrant.  [AFTERWIT_QDRANT_URL]")
@click.option("--redis-url", envvar="AFTERWIT_REDIS_URL", help="Use this Redis or Valkey.  [AFTERWIT_REDIS_URL]")
@click.option("--inference-url", envvar="AFTERWIT_INFERENCE_URL", help="Use this vLLM.  [AFTERWIT_INFERENCE_URL]")
@asynchronous
@data_dir_option
async def up(output: Output, **options: Any) -> None:
    """Start the engines, the memory nodes and the gateways, and keep them running until Ctrl-C."""
    from ..up import UpOptions
    from ..up import up as run
    from .telling import Telling

    chosen = UpOptions(**options)
    try:
        chosen.check(os.environ)
    except AfterwitError as e:
        raise click.UsageError(e.message) from e
    await run(chosen, Telling(output), environ=os.environ)


@click.command()
@command
def node(output: Output) -> None:
    """Serve as a memory node; settings come from AFTERWIT_… variables."""
    from ...bus.loop import run
    from ...memory_node.node import main
    from ...memory_node.settings import NodeSettings

    log_to_stderr(os.environ)
    export_telemetry("node", os.environ)
    run(main(NodeSettings.from_env(os.environ)))


@click.command()
@command
def gateway(output: Output) -> None:
    """Serve MCP over HTTP; settings come from AFTERWIT_… variables."""
    from ...bus.mcp.gateway import main
    from ...bus.mcp.settings import GatewaySettings
    from ..ports import choose_port

    log_to_stderr(os.environ)
    export_telemetry("gateway", os.environ)
    settings = GatewaySettings.from_env(os.environ)
    choose_port(settings.host, settings.port, "AFTERWIT_PORT")
    main(settings)


@click.command()
@asynchronous
@client_options
async def mcp(output: Output, target: Target) -> None:
    """Speak MCP on standard input and output, for one agent."""
    from ...bus.mcp.stdio import serve_stdio

    log_to_stderr(os.environ)
    export_telemetry("mcp", os.environ)
    await serve_stdio(target.agent, target.url, target.token, tls=target.tls)
