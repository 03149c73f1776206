"""Qdrant in a container: the part of its configuration that is ours."""

from __future__ import annotations

from typing import Final

_CONFIG: Final = """\
service:
  api_key: {api_key}
telemetry_disabled: true
"""


def qdrant_config(*, api_key: str) -> str:
    """What goes into Qdrant's ``config/local.yaml``: nobody without the key is served."""
    return _CONFIG.format(api_key=api_key)
