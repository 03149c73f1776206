"""`explain`: how a retrieval came to its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import asynchronous, client_options
from .output import Output

if TYPE_CHECKING:
    from ..client import Target


@click.command()
@click.argument("retrieval_id", metavar="RETRIEVAL_ID")
@asynchronous
@client_options
async def explain(output: Output, target: Target, retrieval_id: str) -> None:
    """Say why RETRIEVAL_ID (of yours, up to 30 days ago) brought what it brought, and where its time went."""
    from ...schemas import Explain, ExplainReply
    from ...schemas.codec import convert
    from ..client import bus_client
    from .tables import explained

    request = convert({"retrieval_id": retrieval_id}, Explain)
    async with bus_client(target) as bus:
        reply = await bus.call("explain", request, ExplainReply)
    output.result(reply, *explained(reply))
