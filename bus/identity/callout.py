"""The auth callout: NATS asks who a connection is, and what it may do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from ...schemas import AfterwitError, Invalid
from .. import names
from ..connection import Credentials, connect
from .agents import Agents
from .keys import AuthRequest, Signer, auth_request
from .pools import PoolRegistry

LIFETIME: Final = timedelta(hours=24)
"""After this long a connection has to prove itself anew, which NATS clients do by themselves.

Revocation does not wait for it (`connections.disconnect`); it is the net below that.
"""

_SUBJECT: Final = "$SYS.REQ.USER.AUTH"
_QUEUE: Final = "callout"
_AT_ONCE: Final = 32
_UNLIMITED: Final = -1

log = logging.getLogger(__name__)


class AuthCallout:
    """Answers NATS while it is entered. Any number of nodes may do so together: each question goes to one.

    A connection is let into `names.AGENTS_ACCOUNT` as the agent whose token it gives, with `names.permissions` for the
    pools that the agent may read at that moment. It ends when the token ends, when the first of those grants lapses
    (the client connects again and gets what is left), or after `LIFETIME`.

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
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._nc = nc_auth
        self._signer = Signer(key_seed)
        self._agents = agents
        self._pools = pools
        self._now = now
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._answering = asyncio.TaskGroup()
        self._subscription: Subscription | None = None

    async def __aenter__(self) -> Self:
        await self._answering.__aenter__()
        self._subscription = await self._nc.subscribe(_SUBJECT, queue=_QUEUE, cb=self._asked)
        await self._nc.flush()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._subscription is not None and not self._nc.is_closed:
            await self._subscription.unsubscribe()
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
        ends = [self._now() + LIFETIME, proof.expires_at, *(grant.until for grant in grants.values())]
        allowed = names.permissions(proof.agent, (f"agent/{proof.agent}", *grants))
        claims = {
            "sub": request.user_nkey,
            "aud": names.AGENTS_ACCOUNT,
            "name": proof.agent,
            "exp": int(min(end for end in ends if end is not None).timestamp()),
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
        return {"jwt": self._signer.sign(claims)}

    def _response(self, request: AuthRequest, decision: dict[str, str]) -> bytes:
        claims: dict[str, Any] = {
            "sub": request.user_nkey,
            "aud": request.server_id.id,
            "nats": {"type": "authorization_response", "version": 2, **decision},
        }
        return self._signer.sign(claims).encode()


class CalloutSecret(msgspec.Struct, frozen=True, kw_only=True):
    """The callout's credentials file: its NATS user, and the seed of the account key that it signs with."""

    user: str
    password: str
    seed: str


@asynccontextmanager
async def serve_callout(url: str, secret: Path, agents: Agents, pools: PoolRegistry) -> AsyncIterator[None]:
    """An `AuthCallout` on a connection of its own while the block runs; ``secret`` is a file with a `CalloutSecret`.

    Raises:
        Invalid: the file cannot be read.
        Unauthenticated, Unavailable: as `connect`.
    """
    try:
        ours = msgspec.json.decode(await asyncio.to_thread(secret.read_bytes), type=CalloutSecret)
    except (OSError, msgspec.MsgspecError) as e:
        raise Invalid(f"{secret} is no credentials file of the auth callout: {e}", field="credentials") from e
    nc = await connect(url, name="afterwit callout", credentials=Credentials(user=ours.user, password=ours.password))
    try:
        async with AuthCallout(nc, ours.seed, agents, pools):
            yield
    finally:
        await nc.close()
