"""The results for people, and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import to_builtins
from rich import box
from rich.console import Console
from rich.table import Table

from .goals import GOALS, MAX_CPU_AT_REST, MAX_MB_AT_REST, Goal
from .measuring import Timing
from .rest import AtRest


def show(console: Console, timings: Mapping[str, Timing], rest: Sequence[AtRest]) -> None:
    """One table: what has a goal, then the floors and whatever else was timed, then what it takes at rest."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("milliseconds", no_wrap=True)
    for column in ("p50", "p99", "floor", "floor p99", "ratio", "ratio p99", "goal"):
        table.add_column(column, justify="right", no_wrap=True, min_width=min(len(column) + 2, 9))
    for goal in GOALS:
        _add_goal(table, goal, timings)
    table.add_section()
    named = {goal.figure for goal in GOALS}
    for name, timing in timings.items():
        if name not in named:
            table.add_row(name, _ms(timing.p50), _ms(timing.p99), style="dim")
    if rest:
        _add_rest(table, rest)
    console.print(table)
    for goal in GOALS:
        of = " + ".join(goal.floor)
        apart = f", less {' and '.join(goal.apart)}" if goal.apart else ""
        console.print(f"[dim]{goal.figure}{apart}: by {of}[/dim]")


def as_json(timings: Mapping[str, Timing], rest: Sequence[AtRest], about: Mapping[str, Any]) -> dict[str, Any]:
    """Everything: milliseconds, ratios and limits."""
    goals = [
        {
            "figure": goal.figure,
            "floor": list(goal.floor),
            "apart": list(goal.apart),
            "ratio_p50": goal.ratio(timings, "p50"),
            "ratio_p99": goal.ratio(timings, "p99"),
            "limit": goal.limit,
            "met": goal.met(timings),
        }
        for goal in GOALS
    ]
    return {"about": dict(about), "goals": goals, "ms": to_builtins(dict(timings)), "at_rest": to_builtins(list(rest))}


def _add_goal(table: Table, goal: Goal, timings: Mapping[str, Timing]) -> None:
    timing = timings[goal.figure]
    table.add_row(
        goal.figure,
        _ms(timing.p50),
        _ms(timing.p99),
        _ms(goal.floor_ms(timings, "p50")),
        _ms(goal.floor_ms(timings, "p99")),
        f"{goal.ratio(timings, 'p50'):.2f}",
        f"{goal.ratio(timings, 'p99'):.2f}",
        "" if goal.limit is None else _limit(bool(goal.met(timings)), f"≤ {goal.limit:g}"),
    )


def _add_rest(table: Table, rest: Sequence[AtRest]) -> None:
    cpu, memory, resident = sum(r.cpu for r in rest), sum(r.pss_mb for r in rest), sum(r.rss_mb for r in rest)
    table.add_section()
    table.add_row("at rest: share of a core", f"{cpu:.2%}", *[""] * 5, _limit(cpu <= MAX_CPU_AT_REST, "≤ 2 %"))
    table.add_row("at rest: memory (PSS)", f"{memory:.0f} MB", *[""] * 5, _limit(memory <= MAX_MB_AT_REST, "≤ 500 MB"))
    table.add_row("at rest: memory (RSS)", f"{resident:.0f} MB", style="dim")
    for each in rest:
        table.add_row(f"    {each.part}", f"{each.cpu:.2%}", f"{each.pss_mb:.0f} MB", style="dim")


def _limit(met: bool, text: str) -> str:
    return f"[green]{text} ✓[/green]" if met else f"[bold red]{text} ✗[/bold red]"


def _ms(value: float) -> str:
    return f"{value:.2f}"
