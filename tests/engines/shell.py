"""The command line, typed on the machine on which the bus runs."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from dataclasses import dataclass
from typing import Any

from .system import System, clean_environment

COMMAND = (sys.executable, "-P", "-m", "afterwit.deploy.cli")
WITHIN_S = 60.0


@dataclass(frozen=True)
class Shell:
    """Types commands; a status that is not the expected one fails the test with what was on stderr."""

    system: System

    async def start(self, *words: str) -> asyncio.subprocess.Process:
        """A command under way."""
        return await asyncio.create_subprocess_exec(
            *COMMAND,
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=clean_environment(AFTERWIT_DATA_DIR=str(self.system.data_dir), COLUMNS="160"),
        )

    async def run(self, *words: str, stdin: str = "", status: int | None = 0) -> tuple[str, str]:
        """Standard output and error. With ``status`` None any will do."""
        process = await self.start(*words)
        async with asyncio.timeout(WITHIN_S):
            output, errors = await process.communicate(stdin.encode())
        assert status in (None, process.returncode), errors.decode()
        return output.decode(), errors.decode()

    async def json(self, *words: str, stdin: str = "", status: int | None = 0) -> Any:
        """The JSON that the command prints."""
        return json.loads((await self.run(*words, "--json", stdin=stdin, status=status))[0])

    async def new_agent(self) -> tuple[str, str]:
        """An agent of the test's own, and its token."""
        name = f"a{uuid.uuid4().hex[:12]}"
        return name, (await self.json("agent", "add", name))["token"]
