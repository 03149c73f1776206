"""Writes the history down while it happens."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import Any

from tests.engines.agents import Refused

from .history import History, Read, Told, is_whole


@dataclass
class Ledger:
    """The history so far, and what readers need to choose from it."""

    history: History = field(default_factory=History)
    known: list[tuple[str, str]] = field(default_factory=list)
    """Memories that were acknowledged: id and the tag that finds it."""
    unanswered: int = 0
    """Reads that got no answer."""

    def refused(self, error: Refused) -> None:
        """Note that a read, or a subscriber, was refused."""
        refusals = self.history.refusals
        refusals[error.code] = refusals.get(error.code, 0) + 1

    @staticmethod
    def now() -> float:
        """The clock of the history."""
        return time.monotonic()

    def any_known(self, chance: random.Random) -> tuple[str, str] | None:
        """A memory to read, the newer the likelier."""
        if not self.known:
            return None
        return self.known[-1 - min(int(chance.expovariate(0.02)), len(self.known) - 1)]

    def read(self, by: Reader, how: str, id: str, began: float, memory: dict[str, Any] | None) -> None:
        """Note an answered read; ``memory`` is ``None`` where it was not there."""
        whole = memory is None or is_whole(memory["content"], memory["data"])
        self.history.reads.append(
            Read(
                agent=by.agent,
                worker=by.worker,
                how="get" if how == "get" else "retrieve",
                id=id,
                began=began,
                ended=self.now(),
                version=memory["version"] if memory else None,
                whole=whole,
                told=by.told,
            )
        )

    def tell(self, subscriber: str, spell: int, notice: dict[str, Any], *, live: bool) -> None:
        """Note a notice."""
        self.history.told.append(
            Told(
                subscriber=subscriber,
                spell=spell,
                live=live,
                at=self.now(),
                id=notice["id"],
                version=notice["version"],
                seq=notice["seq"],
            )
        )


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads, and the version that it was told of just before."""

    agent: str
    worker: str
    told: int | None = None
