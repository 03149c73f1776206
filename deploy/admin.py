"""The operator's connections: who may change the register of agents, and end connections."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from nats.aio.client import Client as Nats

from ..bus import names
from ..bus.connection import Credentials, connect
from ..bus.identity.parts import ADMIN, SYS
from ..bus.tls import Tls
from ..schemas import Unauthenticated
from .data_dir import DataDir

CREDENTIALS: Final = "AFTERWIT_NATS_CREDENTIALS"
SYSTEM_CREDENTIALS: Final = "AFTERWIT_NATS_SYSTEM_CREDENTIALS"
CALLOUT_CREDENTIALS: Final = "AFTERWIT_NATS_CALLOUT_CREDENTIALS"

_CONNECT_WITHIN_S: Final = 5.0
_VARIABLE_OF: Final = {ADMIN: CREDENTIALS, SYS: SYSTEM_CREDENTIALS}


def credentials_file(part: str, data_dir: DataDir, environ: Mapping[str, str]) -> Path | None:
    """The file with the NATS user of ``part`` (`ADMIN` or `SYS`): given by its variable, or in the data directory."""
    if given := environ.get(_VARIABLE_OF[part]):
        return Path(given).expanduser()
    file = data_dir.credentials / f"{part}.json"
    return file if file.exists() else None


@asynccontextmanager
async def connected_as(part: str, url: str, credentials: Path, tls: Tls | None = None) -> AsyncIterator[Nats]:
    """A connection of a part of ours.

    Raises:
        Unavailable: the server does not answer.
        Unauthenticated: it does not accept the credentials.
    """
    secret = Credentials.from_file(credentials)
    name, inbox = f"afterwit {part}", names.inbox(part)
    nc = await connect(url, name=name, credentials=secret, inbox_prefix=inbox, tls=tls, timeout_s=_CONNECT_WITHIN_S)
    try:
        yield nc
    finally:
        await nc.close()


@asynccontextmanager
async def operator(url: str, data_dir: DataDir, environ: Mapping[str, str]) -> AsyncIterator[Nats]:
    """A connection that may change the register of agents.

    Raises:
        Unauthenticated: no credentials, or not the right ones; the message says what would do.
        Unavailable: the server does not answer.
    """
    credentials = credentials_file(ADMIN, data_dir, environ)
    if credentials is None:
        raise Unauthenticated(
            f"no operator's credentials in {data_dir.credentials}: run this where `afterwit up` has run, with the same "
            f"--data-dir, or name a file in {CREDENTIALS}"
        )
    async with connected_as(ADMIN, url, credentials, Tls.from_env(environ)) as nc:
        yield nc
