from __future__ import annotations

from pathlib import Path

import pytest

from afterwit.bus.mcp.settings import GatewaySettings
from afterwit.schemas import Invalid


def test_everything_has_a_default_and_a_variable() -> None:
    assert GatewaySettings.from_env({}) == GatewaySettings()
    given = GatewaySettings.from_env(
        {
            "AFTERWIT_HOST": "0.0.0.0",  # noqa: S104  # not bound
            "AFTERWIT_PORT": "0",
            "AFTERWIT_NATS_URL": "nats://bus:4222",
            "AFTERWIT_NATS_CREDENTIALS": "/run/gateway.json",
            "AFTERWIT_ALLOWED_HOSTS": "memory.example, memory.example:8443",
            "AFTERWIT_PUBLIC_URL": "https://memory.example",
        }
    )
    assert given.allowed_hosts == ("memory.example", "memory.example:8443")
    assert (given.port, given.nats_credentials) == (0, Path("/run/gateway.json"))


@pytest.mark.parametrize(
    ("variable", "value"),
    [("AFTERWIT_PORT", "high"), ("AFTERWIT_PORT", "65536"), ("AFTERWIT_PUBLIC_URL", "memory.example")],
)
def test_a_bad_value_is_named_with_its_variable(variable: str, value: str) -> None:
    with pytest.raises(Invalid) as caught:
        GatewaySettings.from_env({variable: value})
    assert variable in caught.value.message
    assert repr(value) in caught.value.message
