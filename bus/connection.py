"""Connecting to NATS, so that a connection lasts as long as the program.

Reconnecting never gives up, except where the server itself has said why it ends the connection: then it is closed for
good. `watch` tells when a connection goes, comes back, or is closed: requests under way at that moment are lost, and
pull requests have to be made again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.js import JetStreamContext

from ..schemas import Invalid, Unauthenticated, Unavailable
from .tls import Tls

OLDEST_SERVER: Final = (2, 11)
"""Older servers ignore the time to live of a message without a word."""

_USUAL_PORT: Final = 4222
_RECONNECT_PAUSE_S: Final = 0.2
_PING_EVERY_S: Final = 10
_POLL_S: Final = 0.01
_SLICES: Final = 10
_JUDGED_WITHIN_S: Final = 1.0
"""Whoever judges credentials does so in milliseconds. A refusal later than this says that nobody did, as when the node
with the auth callout is just being restarted: the server then refuses when its own time is up."""

log = logging.getLogger(__name__)


class _Secret(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    user: str | None = None
    password: str | None = None
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Credentials:
    """How to prove who one is: user and password, or a token, or a file with a signed user."""

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    creds_file: str | None = None

    @classmethod
    def from_file(cls, path: str | Path) -> Credentials:
        """Credentials from a ``.creds`` file, or from JSON ``{"user", "password"}`` or ``{"token"}``.

        Raises:
            Invalid: the file cannot be read or is neither.
        """
        try:
            content = Path(path).read_bytes()
        except OSError as e:
            raise Invalid(f"cannot read the credentials file {path}: {e.strerror}", field="credentials") from e
        if b"BEGIN NATS USER JWT" in content:
            return cls(creds_file=str(path))
        try:
            secret = msgspec.json.decode(content, type=_Secret)
        except msgspec.MsgspecError as e:
            raise Invalid(
                f"{path} is neither a .creds file nor JSON with user and password: {e}", field="credentials"
            ) from e
        return cls(user=secret.user, password=secret.password, token=secret.token)


class _Watchers:
    """Who wants to know when one connection goes and comes."""

    def __init__(self) -> None:
        self.gone: set[Callable[[], None]] = set()
        self.back: set[Callable[[], None]] = set()
        self.closed: set[Callable[[], None]] = set()


class Connection(Client):
    """nats-py's client, with a `flush` that is a barrier, and a `close` that also works while the server is away."""

    asked_at = 0.0
    """When it last told a server who it is, on the monotonic clock."""

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        """Send a message.

        Raises:
            nats.errors.MaxPayloadError: with its headers it is larger than the server takes.
        """
        # nats-py 2.16 looks at the payload alone; the server answers such a message by ending the connection for good.
        if headers and len(payload) + size_of(headers) > self.max_payload:
            raise nats.errors.MaxPayloadError
        await super().publish(subject, payload, reply, headers)

    async def flush(self, timeout: int = 10) -> None:  # noqa: ASYNC109  # nats-py's own signature
        """Return when the server has seen all that was sent before, subscriptions too.

        Raises:
            nats.errors.Error: it did not answer in ``timeout`` seconds, or is away.
        """
        if self.is_connected and self._transport is not None:
            # nats-py 2.16 writes its PING at once, ahead of commands that still wait for its flusher.
            self._transport.writelines(self._pending[:])
            self._pending = []
            self._pending_data_size = 0
        await super().flush(timeout)

    def _connect_command(self) -> bytes:
        # nats-py 2.16 goes on without TLS, `tls://` or not, if the server (or somebody in between) does not ask for it.
        wanted = "tls" in self.options or (self._current_server and self._current_server.uri.scheme == "tls")
        if wanted and not self._server_info.get("tls_required"):
            raise nats.errors.SecureConnRequiredError
        self.asked_at = time.monotonic()
        return super()._connect_command()

    async def _process_err(self, err_msg: str) -> None:
        # nats-py 2.16 closes it for good at most of what a server may say, and tells nobody what that was.
        log.warning("NATS connection %s: the server says %s", self.options["name"], err_msg)
        await super()._process_err(err_msg)

    async def close(self) -> None:
        """Close it, however it is; repeating it does nothing."""
        await self._stay_away()
        if not self.is_connected:
            # nats-py 2.16 flushes what is pending to the dead socket and, on that error, leaves its tasks behind.
            self._pending = []
            self._pending_data_size = 0
        subscriptions = list(self._subs.values())
        try:
            await super().close()
        except OSError as e:
            # The server went away while we said goodbye: nats-py 2.16 stops half-way, so the rest of it is done here.
            log.info("closing a NATS connection: %s", e)
            for subscription in subscriptions:
                subscription._stop_processing()
            if self._transport is not None:
                self._transport.close()  # type: ignore[no-untyped-call]  # nats-py leaves it untyped

    async def _stay_away(self) -> None:
        """Give up coming back.

        nats-py 2.16 cancels that once, and where an answer of the server comes at that moment, `asyncio.wait_for` of
        Python 3.11 drops the cancellation: then it goes on, and what was closed is connected again.
        """
        while (task := self._reconnection_task) and not task.done() and task is not asyncio.current_task():
            task.cancel()
            await asyncio.wait((task,), timeout=_POLL_S)


async def connect(
    url: str,
    *,
    name: str,
    credentials: Credentials | None = None,
    inbox_prefix: str | None = None,
    tls: Tls | None = None,
    timeout_s: float = 10.0,
) -> Connection:
    """A connection to one of the servers in ``url`` (several are separated by commas) that comes back for ever.

    ``timeout_s`` is for the first connection alone.

    Raises:
        Unauthenticated: the server does not accept the credentials.
        Invalid: ``url`` is none, or a file of ``tls`` cannot be used.
        Unavailable: no server answered in time, its certificate is not trusted, or it is older than `OLDEST_SERVER`.
    """
    nc = Connection()
    watchers = _watchers_of(nc)
    refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    problem = ""

    async def on_error(error: Exception) -> None:
        nonlocal problem
        is_refusal, problem = _understood(error, time.monotonic() - nc.asked_at)
        if is_refusal and not refused.done():
            refused.set_result(problem)
        log.log(logging.DEBUG if nc.is_reconnecting else logging.WARNING, "NATS connection %s: %s", name, error)

    async def on_disconnect() -> None:
        if not nc.is_closed:
            log.warning("NATS connection %s is gone, reconnecting", name)
        _tell(watchers.gone)

    async def on_reconnect() -> None:
        log.info("NATS connection %s is back", name)
        _tell(watchers.back)

    async def on_close() -> None:
        log.info("NATS connection %s is closed", name)
        _tell(watchers.closed)

    options: dict[str, Any] = {
        "servers": [server for server, _ in servers_in(url)],
        "name": name,
        "error_cb": _safe(on_error),
        "disconnected_cb": _safe(on_disconnect),
        "reconnected_cb": _safe(on_reconnect),
        "closed_cb": _safe(on_close),
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": _RECONNECT_PAUSE_S,
        "ping_interval": _PING_EVERY_S,
        **_authentication(credentials),
        **_over(tls),
    }
    if inbox_prefix:
        options["inbox_prefix"] = inbox_prefix
    connecting = asyncio.create_task(nc.connect(**options), name=f"connect {name}")
    try:
        await _first_of(connecting, refused, within_s=timeout_s)
    finally:
        if not connecting.done():
            connecting.cancel()
            await asyncio.wait((connecting,))
            await nc.close()
    if refused.done() and not nc.is_connected:
        raise Unauthenticated(f"the NATS server at {url} does not accept these credentials")
    refused.cancel()
    if connecting.cancelled():
        told = f" ({problem})" if problem else ""
        raise Unavailable(f"no NATS server answered at {url} within {timeout_s:g} s: is it running?{told}")
    await connecting
    version = nc.connected_server_version
    if (version.major, version.minor) < OLDEST_SERVER:
        await nc.close()
        raise Unavailable(
            f"the NATS server at {url} is {version.major}.{version.minor}; "
            f"{OLDEST_SERVER[0]}.{OLDEST_SERVER[1]} or later is needed"
        )
    return nc


def servers_in(url: str) -> list[tuple[str, tuple[str, int]]]:
    """The URLs of the servers in ``url``, which are separated by commas, each with its host and port.

    Raises:
        Invalid: one of them is no URL.
    """
    found = []
    for server in map(str.strip, url.split(",")):
        try:
            parts = urlsplit(server if "://" in server else f"nats://{server}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if not host:
            raise Invalid(f"{server!r} is no NATS URL: give one such as nats://host:4222", field="nats_url")
        found.append((server, (host, port or _USUAL_PORT)))
    return found


def watch(
    nc: Client,
    *,
    gone: Callable[[], None] | None = None,
    back: Callable[[], None] | None = None,
    closed: Callable[[], None] | None = None,
) -> Callable[[], None]:
    """Call ``gone`` whenever the connection is lost, ``back`` when it has returned, ``closed`` when it never will.

    Returns what ends the watching. A client that `connect` did not make is never reported.
    """
    watchers = _watchers_of(nc)
    wanted = ((watchers.gone, gone), (watchers.back, back), (watchers.closed, closed))
    for told, watcher in wanted:
        if watcher is not None:
            told.add(watcher)

    def end() -> None:
        for told, watcher in wanted:
            if watcher is not None:
                told.discard(watcher)

    return end


async def wait_connected(nc: Client, timeout_s: float) -> None:
    """Return at once if connected, else when it is again.

    Raises:
        Unavailable: it did not come back in time, or was closed.
    """
    deadline = asyncio.get_running_loop().time() + timeout_s
    while not nc.is_connected:
        if nc.is_closed or nc.is_draining:
            raise Unavailable("the connection to NATS was closed")
        if asyncio.get_running_loop().time() >= deadline:
            raise Unavailable(f"NATS has been away for {timeout_s:g} s; try again")
        await asyncio.sleep(_POLL_S)


async def unsubscribe(subscription: Subscription) -> None:
    """End ``subscription``; on a connection that was closed it has ended."""
    with contextlib.suppress(nats.errors.ConnectionClosedError):
        await subscription.unsubscribe()


def size_of(headers: Mapping[str, str]) -> int:
    """Bytes that ``headers`` take beside a message's payload; together they are what ``max_payload`` is about."""
    lines = sum(len(name.encode()) + len(value.encode()) + len(": \r\n") for name, value in headers.items())
    return len("NATS/1.0\r\n") + lines + len("\r\n")


def client_of(js: JetStreamContext) -> Client:
    """The connection under a JetStream context."""
    nc: Client = js._nc  # nats-py has no public way to it (2.16)
    return nc


def _watchers_of(nc: Client) -> _Watchers:
    # Kept on the client itself: a registry beside it would keep every client alive.
    found: _Watchers = vars(nc).setdefault("afterwit_watchers", _Watchers())
    return found


def _safe(callback: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., Awaitable[None]]:
    """``callback`` that never raises: an exception in one of them can end nats-py's reconnecting."""

    async def guarded(*args: Any) -> None:
        try:
            await callback(*args)
        except Exception:
            log.exception("a callback of the NATS connection failed")

    return guarded


async def _first_of(*futures: asyncio.Future[Any], within_s: float) -> None:
    """Return when one of ``futures`` is done, or after ``within_s``.

    The time passes in slices, so that a process that stood still has not waited: else its time is up the moment it goes
    on, and the answer that has come meanwhile is not even read.
    """
    for _ in range(_SLICES):
        done, _ = await asyncio.wait(futures, timeout=within_s / _SLICES, return_when=asyncio.FIRST_COMPLETED)
        if done:
            return


def _understood(error: Exception, after_s: float) -> tuple[bool, str]:
    """Whether ``error``, so long after it was said who we are, judges that; and the error in words."""
    said = str(error) or type(error).__name__
    if "authorization violation" not in said.lower():
        return False, said
    if after_s < _JUDGED_WITHIN_S:
        return True, said
    return False, "nobody judged the credentials in time: is a memory node running?"


def _tell(watchers: set[Callable[[], None]]) -> None:
    for watcher in tuple(watchers):
        try:
            watcher()
        except Exception:
            log.exception("a watcher of the NATS connection failed")


def _over(tls: Tls | None) -> dict[str, Any]:
    context = None if tls is None else tls.context()
    return {} if context is None else {"tls": context}


def _authentication(credentials: Credentials | None) -> dict[str, Any]:
    if credentials is None:
        return {}
    given = {
        "user": credentials.user,
        "password": credentials.password,
        "token": credentials.token,
        "user_credentials": credentials.creds_file,
    }
    return {key: value for key, value in given.items() if value is not None}
