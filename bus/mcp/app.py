"""The gateway as a web application: both MCP endpoints, who may come in, and `/health`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from nats.aio.client import Client
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ...schemas.codec import to_plain
from ...schemas.words import MAX_CONTENT_BYTES, MAX_DATA_BYTES
from ._connection import end_notice_streams
from .auth import not_decided
from .health import examine
from .server import MemoryServer
from .sessions import Sessions

STATEFUL: Final = "/mcp"
STATELESS: Final = "/mcp-stateless"

_MAX_BODY: Final = 6 * MAX_CONTENT_BYTES + 2 * MAX_DATA_BYTES + 64 * 1024
"""The contract's largest memory, however it is escaped (six bytes for one in ``content``), and what surrounds it."""
_MAX_SESSIONS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Application:
    """The web application, and what has to end before its server can."""

    asgi: Starlette
    managers: tuple[StreamableHTTPSessionManager, ...]

    def end_notice_streams(self) -> None:
        """End the streams on which handshake sessions wait for notices; what is under way is still answered."""
        for manager in self.managers:
            end_notice_streams(manager)


def build_app(
    server: MemoryServer,
    verifier: TokenVerifier,
    sessions: Sessions,
    nc: Client,
    *,
    url: str,
    hosts: Iterable[str] = (),
) -> Application:
    """The application; ``url`` is where clients reach it, ``hosts`` the further names that they may use."""
    security = transport_security(url, hosts)
    managers = {
        path: StreamableHTTPSessionManager(
            server,
            json_response=True,  # one message is the whole answer: a stream around it costs 1 ms more
            stateless=path == STATELESS,
            security_settings=security,
            max_request_body_size=_MAX_BODY,
            max_sessions=_MAX_SESSIONS,
        )
        for path in (STATEFUL, STATELESS)
    }

    async def health(_: Request) -> Response:
        report = await examine(nc)
        return JSONResponse(to_plain(report), status_code=report.http_status)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for manager in managers.values():
                await stack.enter_async_context(manager.run())
            yield

    routes: list[BaseRoute] = [Route("/health", health, methods=["GET"])]
    for path, manager in managers.items():
        resource = AnyHttpUrl(url + path)
        served: ASGIApp = StreamableHTTPASGIApp(manager)
        if path == STATEFUL:
            served = sessions.watching(served, manager)
        endpoint = RequireAuthMiddleware(served, [], build_resource_metadata_url(resource))
        routes.append(Route(path, endpoint=endpoint))
        routes += create_protected_resource_routes(resource, [AnyHttpUrl(url)], resource_name="Afterwit")
    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(_TrimmedHeaders),
            Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(verifier), on_error=not_decided),
            Middleware(AuthContextMiddleware),
        ],
        lifespan=lifespan,
    )
    return Application(app, tuple(managers.values()))


class _TrimmedHeaders:
    """Takes the optional white space off header values (RFC 9110, section 5.5), which httptools leaves at their end."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await self._app(scope, receive, send)


def transport_security(url: str, hosts: Iterable[str]) -> TransportSecuritySettings:
    """Who may be named in the Host and Origin headers: a page elsewhere must not reach a gateway on this machine."""
    named = (url.partition("://")[2], "127.0.0.1", "localhost", "[::1]", *hosts)
    allowed = [form for host in dict.fromkeys(named) for form in ((host,) if _has_port(host) else (host, f"{host}:*"))]
    origins = [f"{scheme}://{host}" for host in allowed for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=allowed, allowed_origins=origins)


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]
