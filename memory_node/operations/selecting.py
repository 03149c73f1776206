"""From the filters of a request to those of the index: permission and time are settled here."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ...schemas import Where
from ..access import Access
from ..index import Index, IndexFilter

MAX_SELECTED: Final = 10_000


async def index_filter(access: Access, agent: str, where: Where, now: datetime) -> IndexFilter:
    """What ``agent`` may find under ``where`` at ``now``.

    Raises:
        NotFound: ``where`` names a pool that is not there for ``agent``.
    """
    return IndexFilter.of(where, pools=await access.readable(agent, where.pools), valid_at=now)


async def selected(index: Index, access: Access, agent: str, where: Where, now: datetime) -> list[str]:
    """Ids of everything that ``where`` selects, up to `MAX_SELECTED`."""
    memories = await index.find(await index_filter(access, agent, where, now), limit=MAX_SELECTED)
    return [memory.id for memory in memories]
