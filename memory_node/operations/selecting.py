"""From the filters of a request to those of the index: permission and time are settled here."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ...schemas import Where
from ...schemas.words import HIDDEN
from ..access import Access
from ..index import Index, IndexFilter

MAX_SELECTED: Final = 10_000


async def index_filter(access: Access, agent: str, where: Where, now: datetime) -> IndexFilter:
    """What ``agent`` may find under ``where`` at ``now``.

    Raises:
        NotFound: ``where`` names a pool that is not there for ``agent``.
    """
    return IndexFilter(
        pools=await access.readable(agent, where.pools),
        tier=where.tier,
        kind=where.kind,
        time_range=where.time_range,
        entities=where.entities,
        tags=where.tags,
        task_type=where.task_type,
        session_id=where.session_id,
        min_confidence=where.min_confidence,
        clearance=where.clearance,
        statuses_hidden=frozenset({"purged"}) if where.include_archived else HIDDEN,
        valid_at=None if where.include_archived else now,
    )


async def selected(index: Index, access: Access, agent: str, where: Where, now: datetime) -> list[str]:
    """Ids of everything that ``where`` selects, up to `MAX_SELECTED`."""
    memories = await index.find(await index_filter(access, agent, where, now), limit=MAX_SELECTED)
    return [memory.id for memory in memories]
