"""Timing: several measurements taken in turns, so that what the machine does besides hits all of them alike."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

Measurement = Callable[[], Awaitable[Mapping[str, float]]]
"""Does its work once; gives seconds by name: one piece of work may tell of several things."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Of one figure, in milliseconds."""

    p50: float
    p99: float
    count: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Timing:
        """The quantiles of ``seconds``."""
        ordered = sorted(seconds)

        def at(share: float) -> float:
            return 1000 * ordered[min(int(share * len(ordered)), len(ordered) - 1)]

        return cls(at(0.5), at(0.99), len(ordered))


async def interleaved(
    measurements: Sequence[Measurement], *, rounds: int, warm_up: int, tick: Callable[[], None] = lambda: None
) -> dict[str, Timing]:
    """Each measurement once per round, after ``warm_up`` rounds that do not count; ``tick`` is called per round."""
    taken: list[Mapping[str, float]] = []
    gc.collect()
    for number in range(warm_up + rounds):
        for measurement in measurements:
            seconds = await measurement()
            if number >= warm_up:
                taken.append(seconds)
        tick()
    return timings(taken)


def timings(taken: Iterable[Mapping[str, float]]) -> dict[str, Timing]:
    """All seconds of one name together."""
    by_name: dict[str, list[float]] = {}
    for seconds in taken:
        for name, took in seconds.items():
            by_name.setdefault(name, []).append(took)
    return {name: Timing.of(values) for name, values in by_name.items()}
