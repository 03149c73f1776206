"""The walk: level by level along ``caused_by``, one read for each level, whatever shape the graph has."""

from __future__ import annotations

import heapq
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ...bus.log import LogRecord

MAX_VISITED: Final = 2_000
"""A walk ends here: beyond, a chain explains nothing to anybody."""


@dataclass(frozen=True, slots=True)
class Step:
    """An edge of the graph as the walk goes: from ``source`` to ``target``."""

    source: str
    target: str
    weight: float


@dataclass(frozen=True, slots=True)
class Found:
    """An event that the walk reached: see `afterwit.schemas.trace.TracedItem` for the meaning of its fields.

    ``last``: nothing leads on from it (back along causes, it is a root).
    """

    record: LogRecord
    depth: int
    weight: float
    via: str
    last: bool


Expand = Callable[[Mapping[str, LogRecord]], Awaitable[list[Step]]]
"""The steps that lead on from these events."""
Read = Callable[[Iterable[Step]], Awaitable[dict[str, LogRecord]]]
"""The events at the ends of these steps that exist and that the caller may read."""


async def walk(start: LogRecord, expand: Expand, read: Read, *, max_depth: int) -> dict[str, Found]:
    """Everything within ``max_depth`` steps of ``start``, by id, without ``start`` itself.

    A cycle is walked once; what does not exist, or is not for the caller, is passed over with all that lies behind it.
    """
    origin = start.entry.memory.id
    seen = {origin: start}
    steps: list[Step] = []
    frontier: Mapping[str, LogRecord] = {origin: start}
    for _ in range(max_depth):
        onward = await expand(frontier)
        fresh = [step for step in onward if step.target not in seen]
        reached = await read(fresh) if fresh else {}
        steps += [step for step in onward if step.target in seen or step.target in reached]
        frontier = dict(list(reached.items())[: MAX_VISITED - len(seen)])
        seen.update(frontier)
        if not frontier:
            break
    depths, weights, vias = _longest(origin, steps), *_strongest(origin, steps)
    leading = {step.source for step in steps}
    return {
        id: Found(record, depths[id], weights[id], vias[id], last=id not in leading)
        for id, record in seen.items()
        if id != origin and id in vias
    }


def in_path_order(found: Iterable[Found]) -> list[Found]:
    """Nearest first; a cause never before its effect. At the same depth what happened later is nearer."""
    return sorted(
        found, key=lambda f: (f.depth, -f.record.entry.memory.occurred_at.timestamp(), f.record.entry.memory.id)
    )


def _longest(origin: str, steps: Iterable[Step]) -> dict[str, int]:
    """Steps from ``origin`` by the longest way; an edge that closes a cycle counts for nothing."""
    onward = _by_source(steps)
    order = _topological(origin, onward)
    place = {id: i for i, id in enumerate(order)}
    depths = dict.fromkeys(order, 0)
    for id in order:
        for step in onward.get(id, ()):
            if place[step.target] > place[id]:  # forward in the order: no edge that closes a cycle
                depths[step.target] = max(depths[step.target], depths[id] + 1)
    return depths


def _topological(origin: str, onward: Mapping[str, list[Step]]) -> list[str]:
    """A topological order (reverse postorder of a depth-first search, without recursion) from ``origin``."""
    done: list[str] = []
    seen = {origin}
    stack = [(origin, iter(onward.get(origin, ())))]
    while stack:
        id, rest = stack[-1]
        for step in rest:
            if step.target not in seen:
                seen.add(step.target)
                stack.append((step.target, iter(onward.get(step.target, ()))))
                break
        else:
            done.append(id)
            stack.pop()
    return done[::-1]


def _strongest(origin: str, steps: Iterable[Step]) -> tuple[dict[str, float], dict[str, str]]:
    """The greatest product of weights to each event (Dijkstra: weights are at most 1), and where it comes from."""
    onward = _by_source(steps)
    weights, vias = {origin: 1.0}, dict[str, str]()
    queue = [(-1.0, 0, origin)]
    settled: set[str] = set()
    while queue:
        negative, hops, id = heapq.heappop(queue)
        if id in settled:
            continue
        settled.add(id)
        for step in onward.get(id, ()):
            weight = -negative * step.weight
            if step.target not in settled and weight > weights.get(step.target, -1.0):
                weights[step.target], vias[step.target] = weight, id
                heapq.heappush(queue, (-weight, hops + 1, step.target))
    return weights, vias


def _by_source(steps: Iterable[Step]) -> dict[str, list[Step]]:
    onward: dict[str, list[Step]] = {}
    for step in steps:
        onward.setdefault(step.source, []).append(step)
    return onward
