"""The JWTs of NATS, as far as an auth callout needs them (https://docs.nats.io, "Auth Callout", and ADR-26)."""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import nkeys

_HEADER: Final = msgspec.json.encode({"typ": "JWT", "alg": "ed25519-nkey"})


class ConnectOptions(msgspec.Struct, frozen=True):
    """What the client said of itself."""

    auth_token: str = ""


class ServerId(msgspec.Struct, frozen=True):
    """The server that asks."""

    id: str


class AuthRequest(msgspec.Struct, frozen=True):
    """A server asks who a client is."""

    user_nkey: str
    server_id: ServerId
    connect_opts: ConnectOptions


class _Claims(msgspec.Struct, frozen=True):
    nats: AuthRequest


class Signer:
    """Signs with an account's key."""

    def __init__(self, seed: str) -> None:
        self._pair = nkeys.from_seed(bytearray(seed.encode()))
        self.issuer: str = self._pair.public_key.decode()
        """The public key, as it stands in the server's configuration."""

    def sign(self, claims: Mapping[str, Any]) -> str:
        """A JWT that makes these ``claims``."""
        body = {**claims, "iat": int(time.time()), "iss": self.issuer, "jti": secrets.token_hex(16)}
        signed = f"{_base64(_HEADER)}.{_base64(msgspec.json.encode(body))}"
        return f"{signed}.{_base64(self._pair.sign(signed.encode()))}"


def new_seed() -> str:
    """The seed of a new account key: a secret."""
    seed: bytes = nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_ACCOUNT)
    return seed.decode()


def issuer_of(seed: str) -> str:
    """The public key of ``seed``."""
    return Signer(seed).issuer


def auth_request(jwt: bytes) -> AuthRequest:
    """What a server asks. The signature is not checked: nobody but servers can publish where this comes from.

    Raises:
        ValueError: it is something else.
    """
    _, _, rest = jwt.partition(b".")
    body, _, _ = rest.partition(b".")
    return msgspec.json.decode(base64.urlsafe_b64decode(body + b"=" * (-len(body) % 4)), type=_Claims).nats


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
