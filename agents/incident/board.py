"""The status board: one shared memory that everybody keeps up to date, so that two can want to at once."""

from __future__ import annotations

from typing import Any

from ..memory_tools import MemoryTools, ToolFailed

_seen: dict[str, dict[str, Any]] = {}


async def read_board(memory: MemoryTools, cue: dict[str, Any]) -> dict[str, Any]:
    """Look at the board, and remember the version that was seen."""
    (item,) = await memory.retrieve("status board of the incident", pools=[cue["pool"]], tags=["board"], top_k=1)
    _seen[cue["pool"]] = item["memory"]
    return {"said": item["memory"]["content"], "version": item["memory"]["version"]}


async def add_to_board(memory: MemoryTools, pool: str, line: str) -> dict[str, Any]:
    """Add ``line`` to the board as it was seen; if somebody was faster, look again and add to what stands there now."""
    refused = 0
    board = _seen[pool]
    while True:
        try:
            result = await memory.call(
                "memory_update",
                id=board["id"],
                expected_version=board["version"],
                content=f"{board['content']}\n{line}",
            )
        except ToolFailed as e:
            if e.code != "stale":
                raise
            refused += 1
            await read_board(memory, {"pool": pool})
            board = _seen[pool]
        else:
            _seen[pool] = result["memory"]
            return {"said": line, "version": result["memory"]["version"], "refused": refused}
