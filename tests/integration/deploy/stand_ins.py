"""Stand-ins for the node and the gateway, to try what starts them: ``python stand_ins.py node|gateway``.

They answer the questions by which the supervisor knows that they are ready, and nothing else.
"""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import sys

from afterwit.bus import names
from afterwit.bus.connection import Credentials, connect
from afterwit.bus.rpc import process_metadata
from afterwit.bus.streams import ensure_streams


async def node() -> None:
    """Has the streams made and answers pings."""
    credentials = Credentials.from_file(os.environ["AFTERWIT_NATS_CREDENTIALS"])
    nc = await connect(os.environ["AFTERWIT_NATS_URL"], name="stand-in", credentials=credentials)
    await ensure_streams(nc.jetstream())
    subscription = await nc.subscribe(names.SERVICE_PING)
    async for message in subscription.messages:
        await message.respond(json.dumps({"metadata": process_metadata()}).encode())


class _Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"status": "ok", "tools": 11, "components": {}}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def gateway() -> None:
    """Answers ``GET /health``."""
    address = (os.environ["AFTERWIT_HOST"], int(os.environ["AFTERWIT_PORT"]))
    http.server.ThreadingHTTPServer(address, _Health).serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "node":
        asyncio.run(node())
    else:
        gateway()
