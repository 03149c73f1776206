"""Tables for people: what was found, a memory's versions, ages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ...schemas import ExplainReply, HistoryReply, RetrieveReply, TraceReply, VersionRecord

_LONGEST_VALUE: Final = 60
_UNITS: Final = (("y", 365 * 86_400), ("mo", 30 * 86_400), ("d", 86_400), ("h", 3600), ("min", 60))


def age(then: datetime, now: datetime | None = None) -> str:
    """How long ago ``then`` was, in the largest unit that fits: ``3 d``."""
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if seconds < 0:
        return "to come"
    for unit, length in _UNITS:
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return "now"


def found(reply: RetrieveReply) -> list[RenderableType]:
    """The items of a retrieval, best first, and what was wrong with it."""
    parts: list[RenderableType] = []
    if reply.items:
        table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
        table.add_column("score", justify="right", no_wrap=True)
        table.add_column("age", justify="right", no_wrap=True)
        table.add_column("pool", no_wrap=True)
        table.add_column("what", ratio=3, overflow="fold")
        table.add_column("why", ratio=1, style="dim")
        for item in reply.items:
            memory = item.memory
            what = Text(memory.content + (" …" if item.truncated else ""))
            what.append(f"\n{memory.kind} by {memory.author}  {memory.id}", style="dim")
            table.add_row(f"{item.score:.3f}", age(memory.occurred_at), memory.pool, what, Text(item.why))
        parts.append(table)
    if reply.no_answer:
        parts.append("[yellow]Nothing here seems to answer that.[/]")
    if reply.degraded:
        parts.append(f"[yellow]Degraded: {', '.join(reply.degraded)} could not be asked.[/]")
    parts += [f"[yellow]{hint}.[/]" for hint in reply.hints]
    return parts


def explained(reply: ExplainReply) -> list[RenderableType]:
    """The items of a retrieval with their signals, what was said of them since, and the time of each stage."""
    parts: list[RenderableType] = [
        f"Profile [bold]{reply.profile}[/], {age(reply.at)} ago: {len(reply.items)} of {reply.candidates} candidates"
    ]
    if reply.items:
        table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
        table.add_column("score", justify="right", no_wrap=True)
        table.add_column("id", no_wrap=True)
        table.add_column("signals", ratio=2)
        table.add_column("why", ratio=2)
        table.add_column("feedback", ratio=1)
        for item in reply.items:
            signals = ", ".join(f"{name} {value:.2f}" for name, value in item.signals.items())
            said = "" if item.feedback is None else f"{item.feedback.effect} {item.feedback.note or ''}".strip()
            table.add_row(f"{item.score:.3f}", item.id, Text(signals), Text(item.why), Text(said))
        parts.append(table)
    if reply.no_answer:
        parts.append("[yellow]Nothing there seemed to answer it.[/]")
    if reply.degraded:
        parts.append(f"[yellow]Degraded: {', '.join(reply.degraded)} could not be asked.[/]")
    stages = ", ".join(f"{name} {ms:.1f}" for name, ms in reply.stages.items())
    parts.append(f"Took {reply.took_ms:.1f} ms: {stages}")
    return parts


def chain(reply: TraceReply) -> RenderableType:
    """The events of a trace in path order, nearest first."""
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("steps", justify="right", no_wrap=True)
    table.add_column("weight", justify="right", no_wrap=True)
    table.add_column("turn", justify="right", no_wrap=True)
    table.add_column("what", ratio=1, overflow="fold")
    for item in reply.items:
        memory = item.memory
        what = Text(memory.content)
        what.append(f"\n{memory.kind} by {memory.author}  {memory.id}", style="dim")
        turn = "" if memory.turn is None else str(memory.turn)
        table.add_row(str(item.depth), f"{item.weight:.2f}", turn, what)
    return table


def versions(reply: HistoryReply) -> RenderableType:
    """One row per version, oldest first."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("version", justify="right")
    table.add_column("at", no_wrap=True)
    table.add_column("by")
    table.add_column("what changed", overflow="fold")
    for version in reply.versions:
        lines = [
            Text.assemble((name, "bold"), f": {_short(old)} → {_short(new)}")
            for name, (old, new) in version.changes.items()
        ] or [Text(_without_difference(version), style="dim")]
        if version.reason:
            lines.append(Text(version.reason, style="dim"))
        at = version.at.astimezone().isoformat(sep=" ", timespec="seconds")
        table.add_row(str(version.version), at, version.actor, Text("\n").join(lines))
    return table


def _without_difference(version: VersionRecord) -> str:
    """What a version did that changed no field."""
    return version.change if version.change in ("created", "purged") else f"{version.change}: nothing differs"


def _short(value: Any) -> str:
    text = "nothing" if value in (None, "", [], ()) else str(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
