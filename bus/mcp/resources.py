"""Resources: pools, memories, histories, sessions and entities, each under its memory:// URI."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from mcp_types import ReadResourceResult, Resource, ResourceTemplate, TextResourceContents

from ...schemas import (
    Context,
    ContextReply,
    Entity,
    EntityReply,
    Get,
    GetReply,
    Health,
    HealthReply,
    History,
    HistoryReply,
    Memory,
    NotFound,
    PoolInfo,
    Pools,
    PoolsReply,
)
from ...schemas.beginnings import beginning
from ...schemas.codec import JSON, encode, to_plain
from ...schemas.uris import (
    POOLS,
    EntityUri,
    MemoryRef,
    PoolsUri,
    PoolUri,
    SessionUri,
    entity_uri,
    memory_uri,
    parse_uri,
    pool_uri,
)
from .node import Node
from .plain import plain

_NEWEST: Final = 10
_ENTITIES: Final = 20
_PREVIEW_CHARS: Final = 500

TEMPLATES: Final = [
    ResourceTemplate(
        name="private-pool",
        title="A private pool",
        uri_template="memory://agent/{agent}",
        description="Your own pool: counts, health and the newest memories.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        name="shared-pool",
        title="A shared pool",
        uri_template="memory://shared/{name}",
        description="A pool that you share with others: counts, health and the newest memories.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        name="memory",
        title="A memory",
        uri_template="memory://{kind}/{pool}/{id}",
        description="One memory in full, in its current version.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        name="history",
        title="A memory's history",
        uri_template="memory://{kind}/{pool}/{id}/history{?cursor}",
        description="Every version of a memory: who changed what, and when. With a `cursor` there are further pages.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        name="entity",
        title="What a pool knows of an entity",
        uri_template="memory://{kind}/{pool}/entity/{entity}",
        description=(
            "Everything in one pool about a person, place or thing that it names (percent-encoded): what holds, what "
            "held before, episodes and events, newest first, and what is named beside it. Namesakes stand apart."
        ),
        mime_type=JSON,
    ),
    ResourceTemplate(
        name="session",
        title="A session's window",
        uri_template="memory://agent/{agent}/session/{session}",
        description="The working set of one of your own sessions.",
        mime_type=JSON,
    ),
]


async def list_resources(node: Node, agent: str) -> list[Resource]:
    """The overview, and every pool that ``agent`` may read."""
    pools = (await node.ask(agent, Pools(), PoolsReply)).pools
    overview = Resource(
        uri=POOLS,
        name="pools",
        title="Your pools",
        description="Which pools you may see, your role in each, and how many memories they hold.",
        mime_type=JSON,
    )
    return [overview, *map(_listed, pools)]


def _listed(info: PoolInfo) -> Resource:
    count = sum(info.counts.values())
    about = f"{info.description.rstrip('.')}. " if info.description else ""
    return Resource(
        uri=pool_uri(info.pool),
        name=info.pool,
        title=f"Pool {info.pool}",
        description=f"{about}{count} {'memory' if count == 1 else 'memories'}; you are {info.role}.",
        mime_type=JSON,
    )


async def read_resource(node: Node, agent: str, uri: str) -> ReadResourceResult:
    """The JSON of what ``uri`` names.

    Raises:
        NotFound: it is not there, or not for ``agent``.
        Invalid: it is no URI of ours.
        AfterwitError: it could not be read now.
    """
    value: Any
    match parse_uri(uri):
        case PoolsUri():
            value = await node.ask(agent, Pools(), PoolsReply)
        case PoolUri(pool):
            value = await _pool(node, agent, pool)
        case MemoryRef(pool, id, history=False):
            value = (await node.ask(agent, Get(uri=memory_uri(pool, id)), GetReply)).memory
        case MemoryRef(pool, id, cursor=cursor):
            await node.ask(agent, Get(uri=memory_uri(pool, id)), GetReply)  # that it is in this pool
            value = await node.ask(agent, History(id=id, cursor=cursor), HistoryReply)
        case EntityUri(pool, name):
            value = await node.ask(agent, Entity(pool=pool, name=name), EntityReply)
        case SessionUri(owner, session_id) if owner == agent:
            value = await node.ask(agent, Context(session_id=session_id), ContextReply)
        case _:
            raise NotFound(f"{uri} is not there, or not for you")
    return ReadResourceResult(
        contents=[TextResourceContents(uri=uri, mime_type=JSON, text=encode(plain(value)).decode())]
    )


async def _pool(node: Node, agent: str, pool: str) -> dict[str, Any]:
    health, listing = await asyncio.gather(
        node.ask(agent, Health(pool=pool, newest=_NEWEST, entities=_ENTITIES), HealthReply),
        node.ask(agent, Pools(), PoolsReply),
    )
    info = next((info for info in listing.pools if info.pool == pool), None)
    if info is None:
        raise NotFound(f"{pool} is not there, or not for you")
    return {
        **to_plain(info),
        "newest": [_preview(memory) for memory in health.newest],
        "entities": [{"name": name, "uri": entity_uri(pool, name)} for name in health.entities],
    }


def _preview(memory: Memory) -> dict[str, Any]:
    return {
        **to_plain(memory),
        "content": beginning(memory.content, _PREVIEW_CHARS),
        "data": None,
        "truncated": len(memory.content) > _PREVIEW_CHARS or memory.data is not None,
    }
