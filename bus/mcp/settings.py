"""What the gateway is told when it starts."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ..nats_settings import NatsSettings


class GatewaySettings(NatsSettings, frozen=True, kw_only=True):
    """Where the gateway listens, and which NATS it speaks to."""

    host: Annotated[str, Meta(min_length=1, description="Address on which the gateway listens.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535, description="Port of the gateway; 0 takes a free one.")] = 8377
    allowed_hosts: Annotated[
        tuple[str, ...], Meta(description="Further names under which clients reach the gateway, with or without port.")
    ] = ()
    public_url: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[^/\s]+$")] | None,
        Meta(description="The gateway's URL as clients see it, without a path."),
    ] = None
