"""What the gateway is told when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from ..settings import read_env
from ..tls import Tls


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the gateway listens, and which NATS it speaks to."""

    host: Annotated[str, Meta(min_length=1, description="Address on which the gateway listens.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535, description="Port of the gateway; 0 takes a free one.")] = 8377
    nats_url: Annotated[str, Meta(min_length=1, description="NATS server.")] = "nats://127.0.0.1:4377"
    nats_credentials: Annotated[
        Path | None, Meta(description="File with the NATS user of this part: JSON or .creds.")
    ] = None
    nats_ca: Annotated[
        Path | None, Meta(description="Certificate authorities that NATS servers are trusted by, in PEM.")
    ] = None
    nats_certificate: Annotated[
        Path | None, Meta(description="The part's own certificate for NATS servers that ask for one, in PEM.")
    ] = None
    nats_key: Annotated[Path | None, Meta(description="The key of that certificate.")] = None
    allowed_hosts: Annotated[
        tuple[str, ...], Meta(description="Further names under which clients reach the gateway, with or without port.")
    ] = ()
    public_url: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[^/\s]+$")] | None,
        Meta(description="The gateway's URL as clients see it, without a path."),
    ] = None

    @property
    def nats_tls(self) -> Tls:
        """How NATS is spoken to over TLS."""
        return Tls(ca=self.nats_ca, certificate=self.nats_certificate, key=self.nats_key)

    @classmethod
    def from_env(cls, mapping: Mapping[str, str]) -> GatewaySettings:
        """The settings that ``mapping`` holds.

        Raises:
            Invalid: names the variable and the bad value.
        """
        return read_env(cls, mapping)
