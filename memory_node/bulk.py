"""Data beside texts: of several memories that are answered together, as much of it as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from ..schemas import Memory
from ..schemas.words import MemoryId
from .tokens import TokenCounter

MAX_DATA_BYTES: Final = 4096
"""``data`` over this is never shown among other memories: it is one read of the URI away."""


class Beside:
    """Leaves out the data of a memory that is too big, or that does not fit into ``room`` tokens any more.

    ``tokens`` is what was shown takes, ``left_out`` are the memories whose data was left out.
    """

    def __init__(self, room: int | None, count: TokenCounter) -> None:
        self.tokens = 0
        self.left_out: list[MemoryId] = []
        self._room = room
        self._count = count

    def __call__(self, memory: Memory) -> Memory:
        """``memory``, with its data or without."""
        if memory.data is None:
            return memory
        encoded = msgspec.json.encode(memory.data)
        if len(encoded) <= MAX_DATA_BYTES:
            if self._room is None:
                return memory
            tokens = self._count(encoded.decode())
            if self.tokens + tokens <= self._room:
                self.tokens += tokens
                return memory
        self.left_out.append(memory.id)
        return replace(memory, data=None)


def without_bulk(memories: Sequence[Memory]) -> tuple[tuple[Memory, ...], tuple[MemoryId, ...]]:
    """``memories`` without data that is too big, and which these are."""
    beside = Beside(None, len)
    return tuple(map(beside, memories)), tuple(beside.left_out)
