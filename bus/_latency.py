"""How long operations took: a ring of the last ones for each."""

from __future__ import annotations

from collections import deque
from typing import Final

_KEPT: Final = 512


class _Operation:
    __slots__ = ("errors", "recent_s", "requests")

    def __init__(self) -> None:
        self.requests = 0
        self.errors = 0
        self.recent_s: deque[float] = deque(maxlen=_KEPT)


class Latencies:
    """Counts and recent times by operation."""

    def __init__(self) -> None:
        self._operations: dict[str, _Operation] = {}

    def record(self, op: str, seconds: float, *, failed: bool) -> None:
        """One request ended."""
        operation = self._operations.get(op)
        if operation is None:
            operation = self._operations[op] = _Operation()
        operation.requests += 1
        operation.errors += failed
        operation.recent_s.append(seconds)

    def summary(self) -> dict[str, dict[str, float]]:
        """``{op: {requests, errors, p50_ms, p99_ms}}``, the times over the last 512 of each."""
        return {op: _summary(operation) for op, operation in sorted(self._operations.items())}


def _summary(operation: _Operation) -> dict[str, float]:
    times = sorted(operation.recent_s)
    return {
        "requests": operation.requests,
        "errors": operation.errors,
        "p50_ms": round(_quantile(times, 0.5) * 1000, 3),
        "p99_ms": round(_quantile(times, 0.99) * 1000, 3),
    }


def _quantile(ordered: list[float], q: float) -> float:
    return ordered[min(int(len(ordered) * q), len(ordered) - 1)]
