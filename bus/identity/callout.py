"""The auth callout: NATS asks who a connection is, and what it may do."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from ...schemas import AfterwitError, AgentRecord, Invalid
from .. import names
from ..connection import Credentials, connect, unsubscribe, watch
from ..tls import Tls
from .agents import Agents
from .connections import pool_tag, token_tag, user_name
from .keys import AuthRequest, Signer, auth_request
from .pools import PoolRegistry

_NET_S: Final = 60
"""How long after its end a connection that we should have ended is ended by NATS itself.

A client cannot tell that from a refusal (nats-py 2.16 then closes for good); when disconnected it comes back.
"""
_FAR: Final = timedelta(days=3650)
"""Farther ends than in ten years are none to NATS: it counts them in nanoseconds, and they overflow."""

_MARGIN_S: Final = 0.01
_SUBJECT: Final = "$SYS.REQ.USER.AUTH"
_QUEUE: Final = "callout"
_AT_ONCE: Final = 32
_UNLIMITED: Final = -1
_TOKENS: Final = "tokens"
"""In place of a tag: connections whose token is not good any more."""

_UNENDABLE_S: Final = 900.0
"""How long a connection lives at most where nobody can end it: that long may a revoked agent stay connected."""


class Disconnect(Protocol):
    """Ends an agent's connections, or some by their tags, as `connections.disconnect` does."""

    async def __call__(self, agent: str, *, tag: str | None = None, keep: Collection[str] = ()) -> int:
        """How many were ended."""
        ...


log = logging.getLogger(__name__)


class AuthCallout:
    """Answers NATS while it is entered. Any number of nodes may do so together: each question goes to one.

    A connection is let into `names.AGENTS_ACCOUNT` as the agent whose token it gives, with `names.permissions` for the
    pools that the agent may read at that moment. When the token ends, the connections that it let in are ended by
    ``disconnect``; when a grant lapses, those that were let in with it. They come back with what is left, if they may.
    Of ends that are set later (a token is rotated) `look_again` is to be told. If this process is gone by then, NATS
    ends the connection, and some clients do not come back from that. If ``disconnect`` is None, NATS ends every
    connection after a quarter of an hour at the latest.

    ``nc_auth`` is a connection in `names.AUTH_ACCOUNT`, ``key_seed`` the seed of the account key that the server's
    configuration names as issuer. ``agents`` and ``pools`` read through a connection of a node.
    """

    def __init__(
        self,
        nc_auth: Client,
        key_seed: str,
        agents: Agents,
        pools: PoolRegistry,
        *,
        disconnect: Disconnect | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._nc = nc_auth
        self._signer = Signer(key_seed)
        self._agents = agents
        self._pools = pools
        self._disconnect = disconnect
        self._now = now
        self._ends: dict[tuple[str, str], tuple[datetime, asyncio.TimerHandle]] = {}
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._answering = asyncio.TaskGroup()
        self._subscription: Subscription | None = None
        self._closing = False

    async def __aenter__(self) -> Self:
        await self._answering.__aenter__()
        self._subscription = await self._nc.subscribe(_SUBJECT, queue=_QUEUE, cb=self._asked)
        for _ in range(2):  # nats-py's flush overtakes what still waits to be sent (2.16)
            await self._nc.flush()
        if self._disconnect is not None:
            self._answering.create_task(self._catch_up(self._disconnect), name="auth callout: catch up")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._subscription is not None:
            await unsubscribe(self._subscription)
        self._closing = True
        for _, timer in self._ends.values():
            timer.cancel()
        await self._answering.__aexit__(kind, error, trace)

    async def _asked(self, msg: Msg) -> None:
        await self._turns.acquire()
        self._answering.create_task(self._answer(msg), name="auth callout").add_done_callback(
            lambda _: self._turns.release()
        )

    async def _answer(self, msg: Msg) -> None:
        try:
            request = auth_request(msg.data)
            await msg.respond(self._response(request, await self._decide(request)))
        except Exception:  # the root of a task: the server times the client out, the next one is served
            log.exception("an auth callout failed")

    async def _decide(self, request: AuthRequest) -> dict[str, str]:
        """Either ``jwt`` or ``error``; an error reaches the server's log, never the client."""
        try:
            proof = await self._agents.prove(request.connect_opts.auth_token)
            if proof is None:
                return {"error": "no such token"}
            grants = await self._pools.grants_of(proof.agent)
        except AfterwitError as e:
            log.warning("a NATS connection could not be judged: %s", e)
            return {"error": f"cannot judge now: {e}"}
        ends = {pool_tag(pool): grant.until for pool, grant in grants.items() if grant.until is not None}
        if proof.expires_at is not None:
            ends[_TOKENS] = proof.expires_at
        allowed = names.permissions(proof.agent, (f"agent/{proof.agent}", *grants))
        claims: dict[str, Any] = {
            "sub": request.user_nkey,
            "aud": names.AGENTS_ACCOUNT,
            "name": user_name(proof.agent, (token_tag(proof.digest), *map(pool_tag, grants))),
            "nats": {
                "type": "user",
                "version": 2,
                "pub": {"allow": allowed.publish},
                "sub": {"allow": allowed.subscribe},
                "subs": _UNLIMITED,
                "data": _UNLIMITED,
                "payload": _UNLIMITED,
            },
        }
        for tag, end in ends.items():
            self._end_at(end, proof.agent, tag)
        if self._disconnect is None:
            latest = self._now() + timedelta(seconds=_UNENDABLE_S)
            claims["exp"] = math.ceil(min([latest, *ends.values()]).timestamp())
        elif ends:
            claims["exp"] = math.ceil(min([self._now() + _FAR, *ends.values()]).timestamp()) + _NET_S
        return {"jwt": self._signer.sign(claims)}

    async def look_again(self, agent: str) -> None:
        """``agent`` was revoked, or its tokens were changed: end what those let in that are not good any more.

        Now, and when the next of them ends.

        Raises:
            Unavailable, TimedOut: the register cannot be read, or NATS did not answer: connections may live on.
        """
        if self._disconnect is None:
            return
        record = await self._agents.get(agent)
        if record is not None:
            await self._end_without_token(record, self._disconnect)

    async def _catch_up(self, disconnect: Disconnect) -> None:
        """Learn of what was changed before this process could be told."""
        try:
            for record in await self._agents.list():
                if record.revoked_at is not None or len(record.tokens) > 1 or _rotated(record):
                    await self._end_without_token(record, disconnect)
        except AfterwitError as e:
            log.warning("connections may outlive their tokens, their ends are not known: %s", e)

    async def _end_without_token(self, record: AgentRecord, disconnect: Disconnect) -> None:
        now = self._now()
        tokens = () if record.revoked_at is not None else record.tokens
        for token in tokens:
            if token.expires_at is not None and token.expires_at > now:
                self._end_at(token.expires_at, record.name, _TOKENS)
        good = [token for token in tokens if token.expires_at is None or token.expires_at > now]
        await disconnect(record.name, keep=frozenset(token_tag(token.sha256) for token in good))

    def _end_at(self, end: datetime, agent: str, tag: str) -> None:
        if self._disconnect is None or self._closing:
            return
        key = (agent, tag)
        if key in self._ends:
            earlier, timer = self._ends[key]
            if earlier <= end:
                return
            timer.cancel()
        delay_s = max((end - self._now()).total_seconds(), 0.0) + _MARGIN_S
        timer = asyncio.get_running_loop().call_later(delay_s, self._ended, key, self._disconnect)
        self._ends[key] = (end, timer)

    def _ended(self, key: tuple[str, str], disconnect: Disconnect) -> None:
        del self._ends[key]
        self._answering.create_task(self._end(*key, disconnect), name="auth callout: end")

    async def _end(self, agent: str, what: str, disconnect: Disconnect) -> None:
        try:
            if what == _TOKENS:
                await self.look_again(agent)
            else:
                await disconnect(agent, tag=what)
        except AfterwitError as e:
            log.warning("connections of %s could not be ended, NATS will do it: %s", agent, e)

    def _response(self, request: AuthRequest, decision: dict[str, str]) -> bytes:
        claims: dict[str, Any] = {
            "sub": request.user_nkey,
            "aud": request.server_id.id,
            "nats": {"type": "authorization_response", "version": 2, **decision},
        }
        return self._signer.sign(claims).encode()


def _rotated(record: AgentRecord) -> bool:
    return any(token.created_at > record.created_at for token in record.tokens)


class CalloutSecret(msgspec.Struct, frozen=True, kw_only=True):
    """The callout's credentials file: its NATS user, and the seed of the account key that it signs with."""

    user: str
    password: str
    seed: str


@asynccontextmanager
async def serve_callout(  # noqa: PLR0913  # where, with what, and who is told what
    url: str,
    secret: Path,
    agents: Agents,
    pools: PoolRegistry,
    *,
    disconnect: Disconnect | None = None,
    tls: Tls | None = None,
    on_closed: Callable[[], None] | None = None,
) -> AsyncIterator[AuthCallout]:
    """An `AuthCallout` on a connection of its own while the block runs; ``secret`` is a file with a `CalloutSecret`.

    ``on_closed`` is called if the server ends that connection for good.

    Raises:
        Invalid: the file cannot be read.
        Unauthenticated, Unavailable: as `connect`.
    """
    try:
        ours = msgspec.json.decode(await asyncio.to_thread(secret.read_bytes), type=CalloutSecret)
    except (OSError, msgspec.MsgspecError) as e:
        raise Invalid(f"{secret} is no credentials file of the auth callout: {e}", field="credentials") from e
    credentials = Credentials(user=ours.user, password=ours.password)
    nc = await connect(url, name="afterwit callout", credentials=credentials, tls=tls)
    unwatch = watch(nc, closed=on_closed)
    try:
        async with AuthCallout(nc, ours.seed, agents, pools, disconnect=disconnect) as callout:
            yield callout
    finally:
        unwatch()
        await nc.close()
