"""What the benchmark stores and asks: sentences in English and Chinese, over pools as a real deployment has them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import Final

from afterwit.schemas import Store
from afterwit.schemas.words import Kind

AGENT: Final = "ada"
"""Who is measured: a member of four of the ten shared pools, beside its private one."""
WATCHED: Final = "shared/ops"
"""What an MCP client watches."""
SHARED: Final = "shared/product"
"""Where the measured stores go: a shared pool costs a read of the grant, the private one does not."""

_OTHERS: Final = tuple(f"agent-{number:02}" for number in range(1, 30))
_SHARED: Final = ("ops", "product", "travel", "research", "legal", "sales", "support", "design", "data", "people")
_MEMBER_OF: Final = 4
_KINDS: Final[tuple[Kind, ...]] = ("note", "fact", "lesson", "tool_result", "agent_thought", "user_input")
_BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class PoolShare:
    """A pool, who writes into it, and its share of all memories."""

    pool: str
    writer: str
    share: float


def pools() -> list[PoolShare]:
    """Ten shared pools with 60 % of the memories and thirty private ones, each half as big as the one two before it."""
    shared = [(f"shared/{name}", AGENT if i < _MEMBER_OF else _OTHERS[0]) for i, name in enumerate(_SHARED)]
    private = [(f"agent/{agent}", agent) for agent in (AGENT, *_OTHERS)]
    return [*_shares(shared, 0.6), *_shares(private, 0.4)]


def agents() -> list[str]:
    """All who write."""
    return [AGENT, *_OTHERS]


class Corpus:
    """Texts, the same in every run: ``seed`` decides all."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)  # noqa: S311  # nothing secret
        self._number = 0
        self._sentences = [
            line
            for language in ("en", "zh")
            for line in resources.files("afterwit.memory_node.index")
            .joinpath(f"sample_{language}.txt")
            .read_text("utf-8")
            .splitlines()
        ]

    def memory(self, pool: str) -> Store:
        """A new memory of two or three sentences (about 150 characters), half of them in Chinese."""
        self._number += 1
        text = " ".join(self._random.sample(self._sentences, self._random.choice((2, 3))))
        return Store(
            content=f"KST-{self._number}: {text}",
            pool=pool,
            kind=self._random.choice(_KINDS),
            entities=(f"service-{self._random.randrange(50)}",),
            tags=(f"tag-{self._random.randrange(20)}",),
            occurred_at=_BEGAN + timedelta(minutes=self._random.randrange(400_000)),
        )

    def query(self) -> str:
        """A new question: half a dozen to a dozen words that occur."""
        self._number += 1
        return f"{self._random.choice(self._sentences)} KST-{self._random.randrange(1, self._number)}"


def fill(corpus: Corpus, count: int, batch: int = 256) -> Iterator[tuple[str, list[Store]]]:
    """``count`` memories as batches of one writer each."""
    for place in pools():
        left = round(place.share * count)
        while left > 0:
            size = min(left, batch)
            yield place.writer, [corpus.memory(place.pool) for _ in range(size)]
            left -= size


def _shares(pools: list[tuple[str, str]], together: float) -> list[PoolShare]:
    weights = [0.5 ** (i / 2) for i in range(len(pools))]
    total = sum(weights)
    return [PoolShare(pool, by, together * w / total) for (pool, by), w in zip(pools, weights, strict=True)]


def readable_pools() -> list[str]:
    """What the measured agent may read."""
    return [f"agent/{AGENT}", *(f"shared/{name}" for name in _SHARED[:_MEMBER_OF])]
