"""`afterwit demo`: starts the bus, lets three agents work on an incident over MCP, and checks what came of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from .incident.play import ACTS, POOL, Account, Cast
from .incident.stage import ActorFailed, on_stage

READY_WITHIN_S: Final = 120.0
_STOP_WITHIN_S: Final = 20.0
_AFTERWIT: Final = (sys.executable, "-P", "-m", "afterwit.deploy.cli")
_POLL_S: Final = 0.05


class DemoFailed(Exception):
    """The bus did not start, or a command failed."""


def main() -> int:
    """Play; the exit status: 0 if everything held, else 1."""
    console = Console(highlight=False)
    try:
        failures = asyncio.run(_demo(console))
    except (DemoFailed, ActorFailed) as e:
        console.print(f"[bold red]The demo could not go on:[/] {e}")
        return 1
    if failures:
        console.print(f"\n[bold red]{len(failures)} promise(s) did not hold.[/]")
        return 1
    console.print("\n[bold green]Everything held, and nothing is left running.[/] Your turn: [bold]make up[/]")
    return 0


async def _demo(console: Console) -> list[str]:
    account = Account(tell=lambda who, text, took_ms: _tell(console, who, text, took_ms))
    with tempfile.TemporaryDirectory(prefix="afterwit-demo-", ignore_cleanup_errors=True) as directory:
        began = time.perf_counter()
        async with _bus(Path(directory)) as ready:
            console.print(f"The bus is up after {time.perf_counter() - began:.1f} s at [bold]{ready['mcp']}[/]")
            await _command(ready, "mira", "pool", "create", POOL, "--description", "Incident 4711")
            await _command(ready, "mira", "pool", "grant", POOL, "lin", "writer")
            began = time.perf_counter()
            async with AsyncExitStack() as stack:
                names = ("mira", "lin", "otto")
                actors = [
                    await stack.enter_async_context(on_stage(name, ready["mcp"], ready["agents"][name]))
                    for name in names
                ]
                seen: dict[str, Any] = {}
                for title, act in ACTS:
                    console.print(f"\n[bold]{title}[/]")
                    await act(Cast(*actors), account, seen)
            console.print(f"\nThe play took {time.perf_counter() - began:.1f} s.")
    return account.failures


@asynccontextmanager
async def _bus(directory: Path) -> AsyncIterator[dict[str, Any]]:
    """`afterwit up` on free ports; its ready file."""
    ready_file = directory / "ready.json"
    log = directory / "up.log"
    command = [*_AFTERWIT, "up", "--data-dir", str(directory / "data"), "--port", "0", "--nats-port", "0"]
    command += ["--ready-file", str(ready_file), "--agent", "mira", "--agent", "lin", "--agent", "otto"]
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(*command, stdout=output, stderr=output, env=_environment())
    try:
        deadline = time.monotonic() + READY_WITHIN_S
        while not ready_file.exists():
            if process.returncode is not None or time.monotonic() > deadline:
                raise DemoFailed(f"the bus did not start:\n{log.read_text(encoding='utf-8', errors='replace')}")
            await asyncio.sleep(_POLL_S)
        yield json.loads(ready_file.read_text(encoding="utf-8"))
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_STOP_WITHIN_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def _command(ready: dict[str, Any], agent: str, *words: str) -> None:
    """Run an `afterwit` command as ``agent``."""
    environment = {**_environment(), "AFTERWIT_URL": ready["nats"], "AFTERWIT_TOKEN": ready["agents"][agent]}
    process = await asyncio.create_subprocess_exec(
        *_AFTERWIT, *words, env=environment, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await process.communicate()
    if process.returncode != 0:
        raise DemoFailed(f"`afterwit {' '.join(words)}` failed: {errors.decode(errors='replace')}")


def _environment() -> dict[str, str]:
    """Ours without settings of an Afterwit that runs besides."""
    return {name: value for name, value in os.environ.items() if not name.startswith("AFTERWIT_")}


def _tell(console: Console, who: str, text: str, took_ms: float | None) -> None:
    style = {"ok": "green", "FAILED": "bold red", "": "dim"}.get(who, "cyan")
    took = f" [dim]({took_ms:.0f} ms)[/]" if took_ms is not None else ""
    console.print(f"  [{style}]{who:>6}[/]  ", end="")
    console.print(text, end="", markup=False, soft_wrap=True, style="dim" if who == "" else None)
    console.print(took)


if __name__ == "__main__":
    sys.exit(main())
