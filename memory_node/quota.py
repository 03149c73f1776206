"""How much one agent may ask: requests, bytes to keep, items in bulk. Each agent has its own allowance.

Allowances are token buckets: they fill at the rate that is set, up to ``burst_s`` seconds' worth, and what is larger
than that is let in by one that is not empty, which then owes the rest. Each node keeps its own, and charges what others
have let in as well (`sharing_quotas`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ..bus.rpc import Caller, Handler
from ..schemas import Quota, Store, StoreMany, Update

_MOST_AGENTS: Final = 10_000
"""Beyond so many, those whose allowance is full again are forgotten."""

_AT_ONCE_S: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Per second and agent; 0 is no limit. ``burst_s`` seconds' worth may come at once."""

    requests: float = 0.0
    bytes: float = 0.0
    items: float = 0.0
    burst_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one request, or one ingested item, takes of the allowance."""

    requests: int = 0
    bytes: int = 0
    items: int = 0

    def plus(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(
            requests=self.requests + other.requests, bytes=self.bytes + other.bytes, items=self.items + other.items
        )


class TokenBucket:
    """``level`` units are left; ``rate`` come in each second, up to ``capacity``."""

    __slots__ = ("_at", "_capacity", "_level", "_rate")

    def __init__(self, rate: float, capacity: float, now: float) -> None:
        self._rate = rate
        self._capacity = capacity
        self._level = capacity
        self._at = now

    def wait_s(self, now: float) -> float:
        """How long until something may be taken; 0 if it may be now."""
        self._fill(now)
        wait_s = -self._level / self._rate
        return wait_s if wait_s > _AT_ONCE_S else 0.0

    def take(self, amount: float) -> None:
        """Take it, even beyond what is there: that is owed, and later ones wait for it."""
        self._level -= amount

    def full(self, now: float) -> bool:
        """Whether nothing is missing."""
        self._fill(now)
        return self._level >= self._capacity

    def _fill(self, now: float) -> None:
        self._level = min(self._capacity, self._level + (now - self._at) * self._rate)
        self._at = now


class Quotas:
    """The allowances of all agents, as this node knows them."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._rates = {kind: rate for kind in ("requests", "bytes", "items") if (rate := getattr(limits, kind))}
        self._burst_s = limits.burst_s
        self._clock = clock
        self._buckets: dict[str, dict[str, TokenBucket]] = {}
        self._spent: dict[str, Cost] = {}

    def admit(self, agent: str, cost: Cost) -> None:
        """Take ``cost`` from ``agent``'s allowance.

        Raises:
            Quota: it has used it up; nothing is taken.
        """
        now = self._clock()
        buckets = self._charged(agent, cost, now)
        waits = {kind: bucket.wait_s(now) for kind, bucket in buckets.items()}
        if waits and (wait_s := max(waits.values())) > 0:
            kind = max(waits, key=lambda kind: waits[kind])
            raise Quota(
                f"more than {self._rates[kind]:g} {kind} a second, over {self._burst_s:g} s: "
                f"wait {wait_s:.2f} s, then go on more slowly",
                retry_after_s=round(wait_s, 3),
                quota=kind,
            )
        self._take(agent, buckets, cost)

    def reserve(self, agent: str, cost: Cost) -> float:
        """Take ``cost`` in any case; in how many seconds its turn comes (0: now)."""
        now = self._clock()
        buckets = self._charged(agent, cost, now)
        wait_s = max((bucket.wait_s(now) for bucket in buckets.values()), default=0.0)
        self._take(agent, buckets, cost)
        return wait_s

    def charge(self, agent: str, cost: Cost) -> None:
        """Take ``cost``, which another node has let in."""
        for kind, bucket in self._charged(agent, cost, self._clock()).items():
            bucket.take(getattr(cost, kind))

    def spent(self) -> dict[str, Cost]:
        """What was let in here since this was last asked, by agent."""
        spent, self._spent = self._spent, {}
        return spent

    def guarding(self, handlers: Mapping[str, Handler]) -> dict[str, Handler]:
        """``handlers``, each of which is asked only as far as the caller's allowance goes."""
        return {op: self._guarded(handler) for op, handler in handlers.items()}

    def _guarded(self, handler: Handler) -> Handler:
        async def within(caller: Caller, request: Any) -> msgspec.Struct:
            self.admit(caller.agent, cost_of(request))
            return await handler(caller, request)

        return within

    def _charged(self, agent: str, cost: Cost, now: float) -> dict[str, TokenBucket]:
        """The buckets that ``cost`` is about."""
        if not self._rates:
            return {}
        buckets = self._buckets.get(agent)
        if buckets is None:
            if len(self._buckets) >= _MOST_AGENTS:
                self._forget_full(now)
            buckets = self._buckets[agent] = {
                kind: TokenBucket(rate, rate * self._burst_s, now) for kind, rate in self._rates.items()
            }
        return {kind: bucket for kind, bucket in buckets.items() if getattr(cost, kind)}

    def _take(self, agent: str, buckets: Mapping[str, TokenBucket], cost: Cost) -> None:
        for kind, bucket in buckets.items():
            bucket.take(getattr(cost, kind))
        if buckets:
            before = self._spent.get(agent)
            self._spent[agent] = cost if before is None else before.plus(cost)

    def _forget_full(self, now: float) -> None:
        self._buckets = {
            agent: buckets
            for agent, buckets in self._buckets.items()
            if not all(bucket.full(now) for bucket in buckets.values())
        }


def cost_of(request: msgspec.Struct) -> Cost:
    """What a request takes: one request, the bytes that are to be kept, and its items if it brings many."""
    match request:
        case Store() | Update():
            return Cost(requests=1, bytes=_size(request.content, request.data))
        case StoreMany(items=items):
            size = sum(_size(item.get("content"), item.get("data")) for item in items)
            return Cost(requests=1, bytes=size, items=len(items))
    return Cost(requests=1)


def ingest_cost(request: Store) -> Cost:
    """What an item of the ingest stream takes."""
    return Cost(bytes=_size(request.content, request.data), items=1)


def _size(content: Any, data: Any) -> int:
    text = len(content) if isinstance(content, str) else 0  # characters: near enough, and free
    return text + (0 if data is None or data is msgspec.UNSET else len(msgspec.json.encode(data)))
