"""What the gateway asks of the memory nodes: operations, on behalf of an agent."""

from __future__ import annotations

from typing import Final, Protocol, TypeVar

import msgspec

from ...schemas import OPERATIONS, Changes

R = TypeVar("R", bound=msgspec.Struct)

_OP_OF: Final = {operation.request: name for name, operation in OPERATIONS.items()}
_GRACE_S: Final = 10.0
"""How much longer than the caller's own wait we wait for the answer."""


class Calls(Protocol):
    """Request and reply over the bus, as `afterwit.bus.rpc.Requester` has it."""

    async def call(
        self,
        agent: str,
        op: str,
        request: msgspec.Struct,
        *,
        timeout_s: float | None = None,
    ) -> msgspec.Struct:
        """The reply to ``request``, or an `AfterwitError`."""
        ...


class Node:
    """The memory nodes, whichever of them answers."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def ask(self, agent: str, request: msgspec.Struct, reply: type[R]) -> R:
        """The answer to ``request`` in ``agent``'s name; the operation follows from the request's type.

        Raises:
            AfterwitError: what the node answered, or `Unavailable` and `TimedOut` where none did.
        """
        timeout_s = request.wait_ms / 1000 + _GRACE_S if isinstance(request, Changes) else None
        answer = await self._calls.call(agent, _OP_OF[type(request)], request, timeout_s=timeout_s)
        assert isinstance(answer, reply)
        return answer
