"""What is left out of a window, pressed into one summary: worked out once for each state of a session."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from msgspec.structs import replace

from ...schemas import Memory
from ..reflection.compression import Compressed, compress
from ..tokens import TokenCounter, count_tokens

_REMEMBERED: Final = 512
_STEP: Final = 40
"""Turns that are pressed together; what comes beyond is pressed into what was pressed before."""

_Key: TypeAlias = tuple[int, tuple[tuple[str, int], ...]]
"""The budget, and the turns with their versions."""


class Pressing:
    """Remembers the summaries of the sessions that were read last."""

    def __init__(self, count: TokenCounter = count_tokens) -> None:
        self._count = count
        self._done: OrderedDict[_Key, Compressed] = OrderedDict()
        self._forgotten = 0

    async def summary(self, turns: Sequence[Memory], budget: int) -> Compressed:
        """One summary of ``turns`` (in order) within ``budget`` tokens; empty if there are none."""
        if not turns or budget <= 0:
            return Compressed("", 0)
        key = budget, tuple((turn.id, turn.version) for turn in turns)
        found = self._done.get(key)
        if found is None:
            before = self._forgotten
            found = await asyncio.to_thread(_pressed, list(turns), budget, self._count)
            if self._forgotten != before:  # meanwhile, perhaps one of these turns
                return found
            self._done[key] = found
        self._done.move_to_end(key)
        if len(self._done) > _REMEMBERED:
            self._done.popitem(last=False)
        return found

    def forget(self, ids: Iterable[str]) -> None:
        """These turns were purged: let go of every summary of them."""
        self._forgotten += 1
        gone = frozenset(ids)
        for key in [key for key in self._done if any(id in gone for id, _ in key[1])]:
            del self._done[key]


def _pressed(turns: list[Memory], budget: int, count: TokenCounter) -> Compressed:
    """Step by step, so that a long session costs no more than its steps do."""
    pressed = compress(turns[:_STEP], budget, count=count)
    for start in range(_STEP, len(turns), _STEP):
        earlier = _as_turn(turns[start - 1], pressed.text)
        pressed = compress([*([earlier] if earlier else []), *turns[start : start + _STEP]], budget, count=count)
    return pressed


def _as_turn(model: Memory, text: str) -> Memory | None:
    return replace(model, kind="summary", content=text, importance=1.0) if text else None
