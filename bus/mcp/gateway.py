"""The gateway's process: MCP over HTTP on one side, NATS on the other."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Final

import uvicorn
from nats.aio.client import Client
from sse_starlette.sse import AppStatus

from ...schemas import Unauthenticated, Unavailable
from .. import loop, names
from ..connection import Credentials, connect, unsubscribe, watch
from ..identity import Agents, PoolRegistry, parts
from ..notices import Notices
from ..revocation import hear
from ..rpc import Requester
from .access import RegistryAccess
from .app import Application, build_app
from .auth import AgentTokens, bearer
from .endings import Endings
from .hub import Hub
from .node import Node
from .server import build_server
from .sessions import Sessions
from .settings import GatewaySettings

logger = logging.getLogger(__name__)

_RETRY_PAUSE_S: Final = 0.5
_CONNECT_TIMEOUT_S: Final = 2.0
_GRACE_S: Final = 1
"""How long a request under way may still take once the gateway has been told to stop."""
_BACKLOG: Final = 2048


def main(settings: GatewaySettings, *, ready: Callable[[int], None] | None = None) -> None:
    """Run the gateway until SIGTERM or SIGINT. ``ready`` is called with the port once it answers."""

    async def run() -> None:
        stop = asyncio.Event()
        for sig in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(sig, stop.set)
        await serve(settings, ready=ready, stop=stop)

    loop.run(run())


async def serve(
    settings: GatewaySettings, *, ready: Callable[[int], None] | None = None, stop: asyncio.Event | None = None
) -> None:
    """Run the gateway until ``stop`` is set.

    It stops in this order: no new connections; open streams are ended in order; what is under way gets a moment; the
    connection to NATS is closed.

    Raises:
        OSError: the address cannot be listened on.
        Invalid: the credentials file cannot be used.
        Unauthenticated: NATS does not accept the credentials.
        Unavailable: NATS has ended the connection for good; started anew, the gateway may have another.
    """
    stop = stop or asyncio.Event()
    with _listen(settings.host, settings.port) as listener:
        port: int = listener.getsockname()[1]
        nc = await _connected(settings, stop)
        if nc is None:
            return
        try:
            node = Node(Requester(nc))
            agents, sessions = Agents(nc), Sessions()
            hub = Hub(Notices(nc, nc.jetstream()), RegistryAccess(PoolRegistry(nc), agents), node)
            endings = Endings(agents, hub, sessions, hub.spawn)
            async with hub, asyncio.TaskGroup() as tasks:
                unwatch = watch(nc, back=lambda: hub.spawn(hub.announce_gap()), closed=stop.set)
                hearing = await hear(nc, endings.look_again)
                url = settings.public_url or f"http://{_in_url(settings.host)}:{port}"
                server = build_server(node, hub, bearer, sessions)
                verifier = AgentTokens(agents, endings.expect)
                app = build_app(server, verifier, sessions, nc, url=url, hosts=settings.allowed_hosts)
                web = _WebServer(app, hub, lambda: ready(port) if ready is not None else None)
                stopping = tasks.create_task(web.stop_on(stop))
                logger.info("the gateway listens on %s", url)
                await web.serve(sockets=[listener])
                stopping.cancel()
                unwatch()
                endings.close()
                await unsubscribe(hearing)
            if nc.is_closed:
                raise Unavailable("NATS has ended the gateway's connection for good; what it said stands in the log")
        finally:
            await nc.close()


class _WebServer(uvicorn.Server):
    """uvicorn that ends our streams first when it is told to stop, and leaves signals to us."""

    def __init__(self, app: Application, hub: Hub, on_started: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app.asgi,
                log_config=None,
                access_log=False,
                lifespan="on",
                timeout_graceful_shutdown=_GRACE_S,
                ws="none",
            )
        )
        self._app = app
        self._hub = hub
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        AppStatus.should_exit = False
        await super().startup(sockets)
        if self.started:
            self._on_started()

    async def stop_on(self, stop: asyncio.Event) -> None:
        """End all streams once ``stop`` is set, then the server: it waits for streams, and they last for ever."""
        await stop.wait()
        self._hub.close()
        self._app.end_notice_streams()
        # It is the process's, not ours alone: the SDK's event streams have a task that ends by it, and by nothing else.
        AppStatus.should_exit = True
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn raises a caught signal once more when it is done, which would end the process with a failure.
        yield


async def _connected(settings: GatewaySettings, stop: asyncio.Event) -> Client | None:
    """A connection to NATS, however long it takes; ``None`` if we are told to stop meanwhile."""
    credentials = None if settings.nats_credentials is None else Credentials.from_file(settings.nats_credentials)
    told = False
    while not stop.is_set():
        try:
            return await connect(
                settings.nats_url,
                name="afterwit gateway",
                credentials=credentials,
                inbox_prefix=names.inbox(parts.GATEWAY),
                tls=settings.nats_tls,
                timeout_s=_CONNECT_TIMEOUT_S,
            )
        except Unauthenticated:
            raise
        except Unavailable as e:
            if not told:
                logger.warning("waiting for NATS: %s", e)
                told = True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _RETRY_PAUSE_S)
    return None


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, or asyncio leaves Nagle's algorithm on and every answer takes 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _in_url(host: str) -> str:
    """An address on which everybody is served has no name of its own; clients on this machine use the loopback's."""
    if host in ("0.0.0.0", "::"):  # noqa: S104  # not bound here
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
