"""Our errors as the protocol's, where there is no result to put them into."""

from __future__ import annotations

from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ...schemas import AfterwitError, ErrorReply, Invalid, NotFound, TooLarge
from ...schemas.codec import to_plain

_RESOURCE_NOT_FOUND: Final = -32002
"""Up to 2025-11-25; since then a resource that is not there is an invalid parameter."""


def protocol_error(error: AfterwitError) -> MCPError:
    """``error`` as a protocol error that carries our error object as its data."""
    code = INVALID_PARAMS if isinstance(error, Invalid | NotFound | TooLarge) else INTERNAL_ERROR
    return MCPError(code, error.message, to_plain(ErrorReply(error=error.body)))


def resource_not_found(uri: str, protocol_version: str) -> MCPError:
    """What everybody gets who asks for a resource that is not there, or not for them."""
    code = INVALID_PARAMS if protocol_version in MODERN_PROTOCOL_VERSIONS else _RESOURCE_NOT_FOUND
    return MCPError(code, f"resource not found: {uri}", {"uri": uri})
