"""Taking memories out of one bus and into another: JSON lines, as `list` shows them.

What was imported says so: its author is who imported it, its source is that agent, and tags name the import and who
the author was. The bus vouches for no more than that somebody brought it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ..memory_node.ids import derived_id
from ..schemas import (
    AfterwitError,
    Forbidden,
    Invalid,
    LinkReply,
    LinkRequest,
    ListedVersion,
    ListMemories,
    ListMemoriesReply,
    Memory,
    NotFound,
    Pools,
    PoolsReply,
)
from ..schemas.codec import JSON, convert, decode
from ..schemas.words import HIDDEN
from .client import BusClient
from .ingestion import Ingestion, RefusedLine, Summary

_KEPT: Final = (
    "content", "tier", "kind", "data", "session_id", "turn", "entities", "labels", "task_type", "fact",
    "importance", "confidence", "occurred_at", "valid_from", "expires_at", "pinned",
)  # fmt: skip
_MOST_TAGS: Final = 64


async def exported(bus: BusClient, pools: Iterable[str], *, history: bool) -> AsyncIterator[ListedVersion]:
    """Everything in ``pools``, or in all that the agent may read, in the order of the log.

    Raises:
        NotFound: one of the pools is not there for the agent.
    """
    for pool in list(pools) or await _all_pools(bus):
        cursor: str | None = None
        while True:
            request = ListMemories(pool=pool, cursor=cursor, history=history)
            page = await bus.call("list", request, ListMemoriesReply)
            for version in page.versions:
                yield version
            cursor = page.cursor
            if cursor is None:
                break


async def _all_pools(bus: BusClient) -> list[str]:
    return [info.pool for info in (await bus.call("pools", Pools(), PoolsReply)).pools]


class ImportSummary(Summary, kw_only=True):
    """``left_out`` were archived, superseded or purged where they came from; ``links`` were drawn again."""

    left_out: int = 0
    links: int = 0
    links_left_out: int = 0


@dataclass(frozen=True, slots=True)
class _Arriving:
    """A memory on its way in: in which line it stood, where it goes, and which id it will have there."""

    number: int
    memory: Memory
    pool: str
    key: str
    id: str

    @property
    def line(self) -> bytes:
        """Its `store` request. Over and over the same, so that an import can be repeated."""
        kept: dict[str, Any] = {name: getattr(self.memory, name) for name in _KEPT}
        marks = ("imported", f"imported from {self.memory.author}")
        tags = dict.fromkeys((*self.memory.tags[: _MOST_TAGS - len(marks)], *marks))
        return msgspec.json.encode(
            {**kept, "tags": tuple(tags), "source": "agent", "pool": self.pool, "idempotency_key": self.key}
        )


class Import:
    """One run; repeated runs add nothing. ``pool`` takes everything in, whatever pool it came from."""

    def __init__(self, bus: BusClient, *, pool: str | None = None, patience_s: float = 120.0) -> None:
        self._bus = bus
        self._pool = pool
        self._ingestion = Ingestion(bus, patience_s=patience_s)

    async def run(self, lines: Iterable[bytes]) -> ImportSummary:
        """Take in the newest version of each memory in ``lines``, then draw their links.

        Raises:
            TimedOut, Unavailable: as `Ingestion.run`; run again later.
        """
        summary = ImportSummary()
        newest, bad = _newest(lines)
        summary.refused += bad
        arriving = {
            id: self._arriving(number, memory) for id, (number, memory) in newest.items() if memory.status not in HIDDEN
        }
        summary.left_out = len(newest) - len(arriving)
        ingested = await self._ingestion.run(each.line for each in arriving.values())
        summary.lines = ingested.lines + len(bad)
        summary.stored, summary.created = ingested.stored, ingested.created
        lines_of = [each.number for each in arriving.values()]
        summary.refused += [replace(refused, line=lines_of[refused.line - 1]) for refused in ingested.refused]
        summary.refused.sort(key=lambda refused: refused.line)
        await self._link(arriving, summary)
        return summary

    def _arriving(self, number: int, memory: Memory) -> _Arriving:
        pool = self._pool or (memory.pool if memory.pool.startswith("shared/") else f"agent/{self._bus.agent}")
        key = f"import:{memory.id}"
        return _Arriving(number, memory, pool, key, derived_id(self._bus.agent, pool, key))

    async def _link(self, arriving: dict[str, _Arriving], summary: ImportSummary) -> None:
        for each in arriving.values():
            for link in each.memory.links:
                target = arriving[link.target].id if link.target in arriving else link.target
                request = LinkRequest(source=each.id, target=target, rel=link.rel, weight=link.weight)
                try:
                    await self._bus.call("link", request, LinkReply)
                    summary.links += 1
                except (Invalid, NotFound, Forbidden):
                    summary.links_left_out += 1  # its other end was not exported, or stands in a pool not to be read


def _newest(lines: Iterable[bytes]) -> tuple[dict[str, tuple[int, Memory]], list[RefusedLine]]:
    """The newest version of each memory with its line, in the order of the lines, and lines that are none."""
    newest: dict[str, tuple[int, Memory]] = {}
    bad: list[RefusedLine] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            memory = convert(decode(line, dict, JSON), ListedVersion).memory
        except AfterwitError as e:
            bad.append(RefusedLine(line=number, error=e.body))
            continue
        if memory.id not in newest or newest[memory.id][1].version <= memory.version:
            newest[memory.id] = number, memory
    return newest, bad
