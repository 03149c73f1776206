"""The director's side of the stage: starts actors as processes of their own and gives them their cues."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

CUE_WITHIN_S: Final = 60.0
_EXIT_WITHIN_S: Final = 5.0


class ActorFailed(Exception):
    """An actor ended, or did not answer in time."""


class Actor:
    """One agent in its own process."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self._process = process

    async def act(self, cue: str, **details: Any) -> dict[str, Any]:
        """Give a cue, and wait for what came of it."""
        self._send(cue, details)
        return await self._answer()

    async def begin(self, cue: str, **details: Any) -> asyncio.Task[dict[str, Any]]:
        """Give a cue to watch for something; returns once the actor watches, with the task that ends in its answer."""
        self._send(cue, details)
        first = await self._answer()
        if not first.get("watching"):
            raise ActorFailed(f"{self.name} was to watch and answered {first}")
        return asyncio.create_task(self._answer(), name=f"{self.name}: {cue}")

    def _send(self, cue: str, details: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"cue": cue, **details}).encode() + b"\n")

    async def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(CUE_WITHIN_S):
                line = await self._process.stdout.readline()
        except TimeoutError:
            raise ActorFailed(f"{self.name} did not answer within {CUE_WITHIN_S:.0f} s") from None
        if not line:
            raise ActorFailed(f"{self.name} ended; what it had to say stands above")
        answer: dict[str, Any] = json.loads(line)
        return answer


@asynccontextmanager
async def on_stage(name: str, mcp_url: str, token: str) -> AsyncIterator[Actor]:
    """An actor that plays ``afterwit.agents.incident.<name>`` for as long as the block runs."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", f"afterwit.agents.incident.{name}"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "AFTERWIT_MCP": mcp_url, "AFTERWIT_TOKEN": token},
    )
    try:
        yield Actor(name, process)
    finally:
        await _leave(process)


async def _leave(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(_EXIT_WITHIN_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
