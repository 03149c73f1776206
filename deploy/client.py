"""The command line as a client of the bus: it speaks NATS, with an agent's token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

import msgspec
from nats.aio.client import Client as Nats

from ..bus import names
from ..bus.connection import Credentials, connect
from ..bus.identity.tokens import agent_of
from ..bus.rpc import Requester
from ..bus.tls import Tls
from ..schemas import Invalid, Unauthenticated
from .data_dir import DataDir, checked_agent

DEFAULT_URL: Final = "nats://127.0.0.1:4377"

_CONNECT_WITHIN_S: Final = 5.0
"""A person waits; a bus that restarts is back sooner."""

R = TypeVar("R", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Which bus, and as whom."""

    url: str
    token: str
    agent: str
    tls: Tls = field(default_factory=Tls)

    @classmethod
    def find(
        cls, data_dir: DataDir, environ: Mapping[str, str], *, server: str | None, token: str | None, agent: str | None
    ) -> Target:
        """What the options say; then the data directory, for an ``agent`` named there; then the environment.

        Raises:
            Unauthenticated: there is no token; the message names the ways to give one.
            Invalid: the token is none, or another agent's.
            NotFound: no token is kept for that agent.
        """
        agent = agent or (environ.get("AFTERWIT_AGENT") if not token else None)
        if token is None and agent:
            given = environ.get("AFTERWIT_TOKEN")
            token = given if given and agent_of(given) == agent else data_dir.token(checked_agent(agent))
        token = token or environ.get("AFTERWIT_TOKEN")
        if not token:
            raise Unauthenticated(
                "no token: give --token or AFTERWIT_TOKEN (from `afterwit agent add NAME`), or --agent NAME or "
                f"AFTERWIT_AGENT for an agent that `afterwit up --agent NAME` made in {data_dir.path}"
            )
        of = agent_of(token)
        if of is None:
            raise Invalid("this is no token of an agent: one looks like aw.<agent>.<64 hex digits>", field="token")
        if agent and of != agent:
            raise Invalid(f"the token is that of {of!r}, not of {agent!r}", field="agent")
        return cls(url=find_url(data_dir, environ, server), token=token, agent=of, tls=Tls.from_env(environ))


def find_url(data_dir: DataDir, environ: Mapping[str, str], server: str | None) -> str:
    """The NATS URL: given, or of the environment, or of what runs on the data directory, or the usual one."""
    if url := server or environ.get("AFTERWIT_URL"):
        return url
    running = data_dir.running()
    return running.nats if running else DEFAULT_URL


class BusClient:
    """An agent's connection."""

    def __init__(self, nc: Nats, agent: str) -> None:
        self.nc = nc
        self.agent = agent
        self._requester = Requester(nc)

    async def call(self, op: str, request: msgspec.Struct, reply: type[R], *, timeout_s: float | None = None) -> R:
        """Ask for an operation whose reply is a ``reply``.

        Raises:
            AfterwitError: what the node answered, or that none did.
        """
        answer = await self._requester.call(self.agent, op, request, timeout_s=timeout_s)
        return cast("R", answer)


@asynccontextmanager
async def bus_client(target: Target) -> AsyncIterator[BusClient]:
    """Connect as the target's agent.

    Raises:
        Unavailable: no server answers.
        Unauthenticated: it does not know the token.
    """
    nc = await connect(
        target.url,
        name=f"afterwit {target.agent}",
        credentials=Credentials(token=target.token),
        inbox_prefix=names.inbox(target.agent),
        tls=target.tls,
        timeout_s=_CONNECT_WITHIN_S,
    )
    try:
        yield BusClient(nc, target.agent)
    finally:
        await nc.close()
