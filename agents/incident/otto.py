"""Otto, who writes newsletters. The incident is none of his business, but he is curious."""

from __future__ import annotations

from typing import Any

from mcp.shared.exceptions import MCPError

from ..memory_tools import MemoryTools, ToolFailed
from .cues import play


async def pry(memory: MemoryTools, cue: dict[str, Any]) -> dict[str, Any]:
    """Try every door: the pool, one of its memories by URI, a store, a watch, and a search of everything."""
    heard: dict[str, str] = {}
    for name, tool, arguments in (
        ("retrieve", "memory_retrieve", {"query": "checkout", "pools": [cue["pool"]]}),
        ("retrieve where nothing is", "memory_retrieve", {"query": "checkout", "pools": ["shared/no-such-pool"]}),
        ("store", "memory_store", {"content": "Buy our newsletter!", "pool": cue["pool"]}),
        ("forget", "memory_forget", {"ids": [cue["finding"]], "reason": "just because"}),
    ):
        try:
            await memory.call(tool, **arguments)
            heard[name] = "allowed"
        except ToolFailed as e:
            heard[name] = e.code
    try:
        await memory.client.read_resource(f"memory://{cue['pool']}/{cue['finding']}")
        heard["read"] = "allowed"
    except MCPError:
        heard["read"] = "not_found"
    found = await memory.retrieve("Why is checkout slow? 连接数耗尽", top_k=10)
    return {"heard": heard, "found": len(found)}


if __name__ == "__main__":
    play({"pry": pry})
