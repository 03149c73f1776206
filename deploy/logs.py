"""The log files of the parts: one per part, a few old ones kept."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_KEPT: Final = 3


def rotate(log: Path) -> None:
    """Make room for a new ``log``: ``x.log`` becomes ``x.log.1`` and so on; the oldest goes."""
    if not log.exists():
        return
    for n in range(_KEPT - 1, 0, -1):
        older = log.with_name(f"{log.name}.{n}")
        if older.exists():
            older.replace(log.with_name(f"{log.name}.{n + 1}"))
    log.replace(log.with_name(f"{log.name}.1"))


def tail(log: Path, lines: int = 15) -> str:
    """The last ``lines`` of ``log``; empty if there is none."""
    if not log.exists():
        return ""
    with log.open("rb") as f:
        f.seek(max(0, log.stat().st_size - 16_384))
        text = f.read().decode(errors="replace")
    return "\n".join(text.splitlines()[-lines:])
