"""What is stored and asked to see how retrieval grows: 200 pools, notes of a line or of a page, in two languages."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import Any, Final

from afterwit.schemas import Memory, TimeRange
from afterwit.schemas.words import Kind, Tier
from tests.samples import memory

from .corpus import AGENT

POOLS: Final = (f"agent/{AGENT}", *(f"shared/team-{number:03}" for number in range(199)))
SCOPES: Final[Mapping[str, Sequence[str]]] = {"1 pool": POOLS[:1], "5 pools": POOLS[:5], "200 pools": POOLS}
"""The first pools are the largest: a pool's share is as 1 / (10 + its place), from 3.3 % of all down to 0.16 %."""

_TIERS: Final[tuple[Tier, ...]] = ("episodic", "semantic")
_KINDS: Final[tuple[Kind, ...]] = ("note", "fact", "lesson", "tool_result", "agent_thought", "user_input")
_BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_MINUTES: Final = 400_000
_IN_SESSIONS: Final = 0.3
_MOST_SENTENCES: Final = 20
_ASKED_WORDS: Final = 12


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Filters of a request, and the same in plain Python."""

    fields: Mapping[str, Any]

    def holds(self, memory: Memory) -> bool:
        """Whether ``memory`` passes."""
        return all(self._passes(memory, name, wanted) for name, wanted in self.fields.items())

    @staticmethod
    def _passes(memory: Memory, name: str, wanted: Any) -> bool:
        if isinstance(wanted, TimeRange):
            return bool(wanted.start <= memory.occurred_at < wanted.end)  # type: ignore[operator]  # both are given
        held = getattr(memory, name)
        return set(wanted) <= set(held) if isinstance(wanted, tuple) else bool(held == wanted)


NARROWINGS: Final[Mapping[str, Narrowing]] = {
    "no filter": Narrowing({}),
    "tier": Narrowing({"tier": "semantic"}),
    "kind": Narrowing({"kind": "lesson"}),
    "tags": Narrowing({"tags": ("tag-3",)}),
    "time": Narrowing({"time_range": TimeRange(start=_BEGAN + timedelta(days=90), end=_BEGAN + timedelta(days=120))}),
}


class ScaleCorpus:
    """Texts, the same in every run: ``seed`` decides all."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  # nothing secret
        self._sentences = [
            resources.files("afterwit.memory_node.index")
            .joinpath(f"sample_{language}.txt")
            .read_text("utf-8")
            .splitlines()
            for language in ("en", "zh")
        ]

    def batches(self, count: int, size: int = 256) -> Iterator[list[Memory]]:
        """``count`` memories of all pools, mixed."""
        weights = [1 / (10 + place) for place in range(len(POOLS))]
        for start in range(0, count, size):
            numbers = range(start, min(start + size, count))
            pools = self._random.choices(POOLS, weights, k=len(numbers))
            yield [self._memory(number, pool, count) for number, pool in zip(numbers, pools, strict=True)]

    def query(self, count: int) -> str:
        """A dozen words that occur, or their like in Chinese, and the name of one of ``count`` memories."""
        words = self._random.choice(self._random.choice(self._sentences)).split()[:_ASKED_WORDS]
        return f"{' '.join(words)} KST-{self._random.randrange(count)}"

    def _memory(self, number: int, pool: str, count: int) -> Memory:
        """Of one language, of a sentence or up to twenty: 150 characters in the median, a thousand at most."""
        sentences = min(_MOST_SENTENCES, 1 + int(self._random.expovariate(0.35)))
        text = " ".join(self._random.sample(self._random.choice(self._sentences), sentences))
        in_session = self._random.random() < _IN_SESSIONS
        return memory(
            f"KST-{number}: {text}",
            pool=pool,
            author=AGENT,
            tier=self._random.choice(_TIERS),
            kind=self._random.choice(_KINDS),
            entities=(f"service-{self._random.randrange(50)}",),
            tags=(f"tag-{self._random.randrange(20)}",),
            session_id=f"session-{self._random.randrange(max(1, count // 20))}" if in_session else None,
            turn=self._random.randrange(20) if in_session else None,
            occurred_at=_BEGAN + timedelta(minutes=self._random.randrange(_MINUTES)),
        )
