"""What every part is told of NATS: where it is, and how to prove who one is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

import msgspec
from msgspec import Meta

from .settings import read_env
from .tls import Tls


class NatsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that nodes and gateways share; each is read from ``AFTERWIT_<FIELD>``."""

    nats_url: Annotated[str, Meta(min_length=1, description="Where NATS is.")] = "nats://127.0.0.1:4377"
    nats_credentials: Annotated[
        Path | None, Meta(description="The part's NATS credentials: a .creds file or JSON.")
    ] = None
    nats_ca: Annotated[
        Path | None, Meta(description="Certificate authorities that NATS servers are trusted by, in PEM.")
    ] = None
    nats_certificate: Annotated[
        Path | None, Meta(description="The part's own certificate for NATS servers that ask for one, in PEM.")
    ] = None
    nats_key: Annotated[Path | None, Meta(description="The key of that certificate.")] = None

    @property
    def nats_tls(self) -> Tls:
        """How NATS is spoken to over TLS."""
        return Tls(ca=self.nats_ca, certificate=self.nats_certificate, key=self.nats_key)

    @classmethod
    def from_env(cls, mapping: Mapping[str, str]) -> Self:
        """The settings that ``mapping`` holds.

        Raises:
            Invalid: names the variable and the bad value.
        """
        return read_env(cls, mapping)
