"""An actor's side of the stage: a process that reads cues from its standard input and answers on its standard output.

A cue is one JSON line, ``{"cue": name, …}``; the answer is one JSON line too. Cues say when, never what: what an actor
says and does, and what it learns from the bus, is its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from ..memory_tools import MemoryTools, memory_tools

Act = Callable[[MemoryTools, dict[str, Any]], Awaitable[dict[str, Any]]]
"""What an actor does at a cue; the answer says what happened."""

WATCHES_FOR_S: Final = 50.0
"""How long an actor waits for what it watches for. The director waits a little longer for it."""


def play(acts: Mapping[str, Act]) -> None:
    """Be an actor until the director closes our input. ``AFTERWIT_MCP`` and ``AFTERWIT_TOKEN`` say where and who."""
    asyncio.run(_play(acts))


async def _play(acts: Mapping[str, Act]) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with memory_tools(os.environ["AFTERWIT_MCP"], os.environ["AFTERWIT_TOKEN"]) as memory:
        while line := await reader.readline():
            cue = json.loads(line)
            started = time.perf_counter()
            answer = await acts[cue.pop("cue")](memory, cue)
            answer["took_ms"] = (time.perf_counter() - started) * 1000
            print(json.dumps(answer, ensure_ascii=False), flush=True)
