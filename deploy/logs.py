"""What the parts log: one file per part, a few old ones kept."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..schemas import Invalid

LEVEL_VARIABLE: Final = "AFTERWIT_LOG_LEVEL"

_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
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


def log_to_stderr(environ: Mapping[str, str]) -> None:
    """What a part of ours logs goes to standard error, which the supervisor keeps in a file.

    Raises:
        Invalid: ``AFTERWIT_LOG_LEVEL`` is no level.
    """
    level = environ.get(LEVEL_VARIABLE, "").strip().upper() or "INFO"
    if level not in _LEVELS:
        raise Invalid(f"{LEVEL_VARIABLE}: {level!r} is none of {', '.join(_LEVELS)}", field=LEVEL_VARIABLE)
    logging.basicConfig(
        level=level, format="%(asctime)s.%(msecs)03d %(levelname)-7s %(name)s: %(message)s", datefmt="%Y-%m-%d %H:%M:%S"
    )
