"""Puts the questions, and judges what came back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .cases import Own, cases
from .doors import Door
from .markers import Leak, Markers
from .world import Things, ghost

_CHANGING = (
    (rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", b"<uuid>"),
    (rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", b"<time>"),
    (rb'(\\?"(?:seq|cursor|version)\\?": ?)\\?"?\d+\\?"?', rb"\1<number>"),
)
"""What differs between two answers of one meaning: new ids, times, and places in the log, which are everybody's."""


@dataclass
class Probe:
    """What one intruder finds out about one owner's things. ``found`` are the leaks; it should stay empty."""

    markers: Markers
    own: Own
    its: Things
    found: list[Leak] = field(default_factory=list)
    asked: int = 0

    async def ask(self, door: Door, op: str) -> None:
        """Every case of ``op``: no secret may come back, and what is hidden must be answered like what is not there."""
        none = ghost(self.its)
        for real, other in zip(cases(op, self.own, self.its), cases(op, self.own, none), strict=True):
            answer = await self._answer(door, op, real.request)
            if real.comparable:
                self.same(f"{door.name}: {op} {real.request}", answer, await self._answer(door, op, other.request))

    async def ask_at_random(self, door: Door, op: str, requests: Iterable[dict[str, Any]]) -> None:
        """``requests`` of ``op`` that name its things anywhere: no secret may come back."""
        for request in requests:
            await self._answer(door, op, request)

    def judge(self, where: str, data: bytes) -> None:
        """Look for secrets in ``data``."""
        self.asked += 1
        self.found += self.markers.leaks(where, data)

    def judge_all(self, got: Iterable[tuple[str, bytes]]) -> None:
        """Look for secrets in all that ever came; what came from one place may have come in pieces."""
        pieces: dict[str, list[bytes]] = {}
        for where, data in got:
            pieces.setdefault(where, []).append(data)
        for where, parts in pieces.items():
            self.judge(where, b"".join(parts))

    def same(self, where: str, real: bytes, other: bytes) -> None:
        """``real`` is about its things and ``other`` about a ghost's: but for the names they must be alike."""
        one, two = plain(self.its.anonymous(real)), plain(ghost(self.its).anonymous(other))
        if one != two:
            self.found.append(Leak("that it is there", where, f"{one!r} and {two!r}"))

    async def _answer(self, door: Door, op: str, request: dict[str, Any]) -> bytes:
        self.markers.say(repr(request))
        answer = await door.ask(op, request)
        self.judge(f"{door.name}: {op} {request}", answer)
        return answer


def plain(data: bytes) -> bytes:
    """``data`` without what differs each time."""
    for pattern, instead in _CHANGING:
        data = re.sub(pattern, instead, data)
    return data
