"""The figures of a run in `docs/guarantees.md`, between two marks; everything else there is written by people."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

_BEGIN: Final = "<!-- begin: {name}, written by `make chaos` -->"
_END: Final = "<!-- end: {name} -->"

_ROWS: Final = (
    ("G1", "acknowledged writes looked for in log and index", "acknowledged", ("lost", "not found")),
    ("G1", "refused and unanswered writes: whole or not there", "not_acknowledged", ("refused", "unasked", "half")),
    ("G2", "requests that were repeated with their key", "repeated", ("duplicate",)),
    (
        *("G3", "reads that had to see what was known when they began", "reads"),
        ("stale read", "own write not found", "time ran backwards"),
    ),
    (
        *("G4", "notices heard: none missing, each version's first one in order", "notices"),
        ("no notice", "false notice", "notices out of order"),
    ),
    ("G4", "reads right after a notice", "reads_on_notice", ("early notice",)),
    ("G5", "versions by compare-and-set, each counting one on", "updates", ("lost update", "versions")),
)
"""Which guarantee, what was looked at, the figure that says how often, and the checker's rules for it."""


def write(file: Path, name: str, figures: dict[str, Any]) -> None:
    """Put ``figures`` (see `report.figures`) into the block ``name``.

    Raises:
        ValueError: there is no such block.
    """
    text = file.read_text()
    begin, end = _BEGIN.format(name=name), _END.format(name=name)
    before, mark, rest = text.partition(begin)
    _, other, after = rest.partition(end)
    if not mark or not other:
        raise ValueError(f"{file} has no block {name!r}")
    file.write_text(f"{before}{begin}\n{block(figures)}\n{end}{after}")


def block(figures: dict[str, Any]) -> str:
    """What stands there."""
    outcomes, engines = figures["outcomes"], figures["engines"]
    faults = ", ".join(f"{times} × {what}" for what, times in sorted(figures["faults"].items()))
    versions = ", ".join(f"{name} {version}" for name, version in sorted(engines.items()))
    broken = len(figures["violations"])
    figures = figures | {"acknowledged": outcomes.get("acknowledged", 0)}
    figures["not_acknowledged"] = outcomes.get("refused", 0) + outcomes.get("unknown", 0)
    lines = [
        f"{figures['at']}, seed {figures['seed']}, {figures['seconds']:g} s under faults: afterwit "
        f"{figures['afterwit']}, {versions}, Python {figures['python']}.",
        "",
        f"Faults: {faults}.",
        "",
        "| | checked | cases | broken |",
        "| --- | --- | --- | --- |",
    ]
    for guarantee, what, figure, rules in _ROWS:
        found = sum(v.partition(":")[0] in rules for v in figures["violations"])
        lines.append(f"| {guarantee} | {what} | {figures[figure]} | {found} |")
    lines += [
        "",
        f"In all {broken} broken promises. The longest time in which nothing was acknowledged: "
        f"{figures['longest_without_acknowledgement_s']} s.",
    ]
    return "\n".join(lines)
