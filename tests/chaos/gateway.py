"""A gateway at the far end of a cable (`tests.chaos.spaces`), still to be reached where the supervisor has put it.

A process beside it, which dies with it, passes on what comes there.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from afterwit.deploy import tether

from .spaces import go_on_in, take

SPACES: Final = "AFTERWIT_CHAOS_GATEWAY_SPACES"
_GATEWAY: Final = (sys.executable, "-m", "afterwit.deploy.cli", "gateway")


async def pass_on(port: int, host: str) -> None:
    """Everything between connections to this port here and the same port at ``host``, for ever."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))

    async with await asyncio.start_server(accept, "127.0.0.1", port) as server:
        await server.serve_forever()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # the other direction sees it too
    finally:
        writer.close()


def main() -> None:
    """Start the process beside, and become the gateway."""
    cable, port = take(Path(os.environ.pop(SPACES))), os.environ["AFTERWIT_PORT"]
    beside = (sys.executable, "-m", "tests.chaos.gateway", port, cable.address)
    subprocess.Popen((sys.executable, "-I", "-S", tether.__file__, str(os.getpid()), *beside))
    os.environ["AFTERWIT_HOST"] = cable.address
    go_on_in(cable, _GATEWAY)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(pass_on(int(sys.argv[1]), sys.argv[2]))
    else:
        main()
