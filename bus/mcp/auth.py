"""Bearer tokens over HTTP: an agent's token is its identity, and nothing in a payload is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from starlette.authentication import AuthenticationError
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response

from ...schemas import AfterwitError, ErrorReply
from ...schemas.codec import to_plain
from ..identity import digest
from .access import Credential


class TokenProof(Protocol):
    """Whose token it was, and when it ends."""

    @property
    def agent(self) -> str:
        """The agent."""
        ...

    @property
    def expires_at(self) -> datetime | None:
        """When the token ends; ``None``: when it is rotated or revoked."""
        ...


class Prover(Protocol):
    """The part of `afterwit.bus.identity.Agents` that is needed here."""

    async def prove(self, token: str) -> TokenProof | None:
        """Whose token it is; ``None`` if it is nobody's."""
        ...


class NotDecidedError(AuthenticationError):
    """The register of agents could not be read, so nobody can be let in or turned away."""

    def __init__(self, error: AfterwitError) -> None:
        super().__init__(error.message)
        self.error = error


class AgentTokens:
    """The SDK's `TokenVerifier` over our register of agents: one read of NATS per request.

    ``ending`` is told of tokens that end at a known time, and whose they are.
    """

    def __init__(self, agents: Prover, ending: Callable[[str, datetime], None] = lambda agent, end: None) -> None:
        self._agents = agents
        self._ending = ending

    async def verify_token(self, token: str) -> AccessToken | None:
        """The access token of the agent that holds ``token``; ``None`` if nobody does.

        Raises:
            NotDecidedError: the register could not be read.
        """
        try:
            proof = await self._agents.prove(token)
        except AfterwitError as e:
            raise NotDecidedError(e) from e
        if proof is None:
            return None
        if proof.expires_at is not None:
            self._ending(proof.agent, proof.expires_at)
        return AccessToken(token=token, client_id=proof.agent, scopes=[], subject=proof.agent)


def not_decided(_: HTTPConnection, error: AuthenticationError) -> Response:
    """503 with our error object."""
    assert isinstance(error, NotDecidedError)
    return JSONResponse(to_plain(ErrorReply(error=error.error.body)), status_code=503, headers={"retry-after": "1"})


def bearer() -> str:
    """The agent whose request is being handled."""
    return bearer_credential().agent


def bearer_credential() -> Credential:
    """The agent whose request is being handled, and by which token."""
    token = get_access_token()
    assert token is not None, "the route lets nobody in without a token"
    return Credential(token.client_id, digest(token.token))
