"""What a newcomer runs first: the demo checks itself, so its exit status says whether all of it holds."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

WITHIN_S = 200.0


async def test_the_demo_holds(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AFTERWIT_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "afterwit.deploy.cli", "demo"),
        cwd=tmp_path,
        env={**environment, "TMPDIR": str(tmp_path)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(WITHIN_S):
            told, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, told.decode()
