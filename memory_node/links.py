"""Links between memories: how strong they are by default, and whether their targets may be named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ..bus.log import Log, LogRecord
from ..schemas import Invalid, Link, Store
from ..schemas.words import Kind
from .access import Access

_CAUSE_WEIGHTS: Final[dict[tuple[Kind, Kind], float]] = {
    ("tool_call", "tool_result"): 1.0,
    ("agent_thought", "final_answer"): 0.8,
}
"""Design §4, by (cause, effect)."""
DEFAULT_CAUSE_WEIGHT: Final = 0.6


def cause_weight(cause: Kind, effect: Kind) -> float:
    """The weight of ``caused_by`` between two kinds (0…1)."""
    return _CAUSE_WEIGHTS.get((cause, effect), DEFAULT_CAUSE_WEIGHT)


def caused_by(effect: Kind, causes: Iterable[str], records: Mapping[str, LogRecord]) -> tuple[Link, ...]:
    """The links of a memory of kind ``effect`` to its ``causes``."""
    return tuple(
        Link(rel="caused_by", target=id, weight=cause_weight(records[id].entry.memory.kind, effect))
        for id in dict.fromkeys(causes)
    )


async def readable_records(log: Log, access: Access, agent: str, ids: Iterable[str]) -> dict[str, LogRecord]:
    """Those of ``ids`` that exist and that ``agent`` may read."""
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return {}
    records = await log.latest_many(wanted)
    pools = {record.entry.memory.pool for record in records.values()}
    readable = {pool for pool in pools if await access.may_read(agent, pool)}
    return {id: record for id, record in records.items() if record.entry.memory.pool in readable}


def check_all_found(field: str, ids: Iterable[str], records: Mapping[str, LogRecord]) -> None:
    """Refuse links into the void.

    Raises:
        Invalid: names the ids that do not exist or that the caller may not read.
    """
    missing = [id for id in dict.fromkeys(ids) if id not in records]
    if missing:
        raise Invalid(f"{field}: there is no memory {', '.join(missing)} that you may read", field=field, ids=missing)


def check_in_time(agent: str, request: Store, records: Mapping[str, LogRecord]) -> None:
    """Refuse an event that is said to come from a later turn of its own session_id.

    Raises:
        Invalid: names both turns.
    """
    for id in request.caused_by:
        cause = records[id].entry.memory
        same = request.session_id is not None and (cause.author, cause.session_id) == (agent, request.session_id)
        if same and request.turn is not None and cause.turn is not None and cause.turn > request.turn:
            raise Invalid(
                f"caused_by: {id} is turn {cause.turn} of the same session_id, after turn {request.turn}: "
                "a cause comes before its effect; correct turn, or leave it out",
                field="caused_by",
                ids=[id],
            )
