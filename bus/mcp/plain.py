"""What an MCP client is given of our Structs."""

from __future__ import annotations

from typing import Any

from ...schemas.codec import to_plain


def plain(value: Any) -> Any:
    """``value`` as plain values, without the fields that have none: a model pays for each, and a client checks each.

    What stands under ``data`` is the writer's own, and stays as it is.
    """
    return _without_nulls(to_plain(value))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: v if k == "data" else _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(v) for v in value]
    return value
