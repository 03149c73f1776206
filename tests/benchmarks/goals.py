"""The figures that count: each beside the raw engines' for the same work, and how far it may be above them (p50)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from . import bus_floor as bus
from . import product
from .embedding import STUB
from .measuring import Timing

ENGINE_QUERY: Final = "engine query, dense and sparse"
ENGINE_UPSERT: Final = "engine upsert of one point"

Quantile = Literal["p50", "p99"]


@dataclass(frozen=True, slots=True)
class Goal:
    """``figure``, less what is ``apart``, is to be at most ``limit`` times the floor."""

    figure: str
    floor: tuple[str, ...]
    limit: float | None
    apart: tuple[str, ...] = ()

    def floor_ms(self, timings: Mapping[str, Timing], quantile: Quantile) -> float:
        """The sum of the floor's parts."""
        return sum(_at(timings[name], quantile) for name in self.floor)

    def ratio(self, timings: Mapping[str, Timing], quantile: Quantile) -> float:
        """The figure, less what is apart, as a multiple of the floor."""
        apart = sum(_at(timings[name], quantile) for name in self.apart)
        return (_at(timings[self.figure], quantile) - apart) / self.floor_ms(timings, quantile)

    def met(self, timings: Mapping[str, Timing]) -> bool | None:
        """Whether the p50 keeps to the limit; ``None`` without one."""
        return None if self.limit is None else self.ratio(timings, "p50") <= self.limit


GOALS: Final = (
    Goal(product.RETRIEVE, (bus.ROUND_TRIP, ENGINE_QUERY), 6),
    Goal(product.STORE, (bus.VISIBLE,), 4, apart=(ENGINE_UPSERT, STUB)),
    Goal(product.ACCEPTED, (bus.PUBLISH,), None),
    Goal(product.RETRIEVE_MCP, (bus.NOTHING,), 1.5, apart=(product.RETRIEVE,)),
    Goal(product.STORE_MCP, (bus.NOTHING,), 1.5, apart=(product.STORE,)),
    Goal(product.NOTICE_MCP, (product.NOTICE,), 3),
)
MAX_CPU_AT_REST: Final = 0.02
"""Of one core."""
MAX_MB_AT_REST: Final = 500


def _at(timing: Timing, quantile: Quantile) -> float:
    return timing.p50 if quantile == "p50" else timing.p99
