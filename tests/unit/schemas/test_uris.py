"""memory:// URIs: what is built is parsed back, what is not one is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from afterwit.schemas import Invalid, uris, words
from afterwit.schemas.uris import EntityUri, MemoryRef, PoolsUri, PoolUri, SessionUri, parse_uri

from .strategies import by_pattern

POOLS = by_pattern(words.PoolName)
IDS = by_pattern(words.MemoryId)
AGENTS = by_pattern(words.AgentName)
SESSIONS = by_pattern(words.SessionId)
NAMES = by_pattern(words.Text)
QUICK = settings(max_examples=30)


@QUICK
@given(pool=POOLS, id=IDS, agent=AGENTS, session=SESSIONS, entity=NAMES)
def test_what_is_built_is_parsed_back(pool: str, id: str, agent: str, session: str, entity: str) -> None:
    assert parse_uri(uris.POOLS) == PoolsUri()
    assert parse_uri(uris.pool_uri(pool)) == PoolUri(pool)
    assert parse_uri(uris.memory_uri(pool, id)) == MemoryRef(pool, id)
    assert parse_uri(uris.history_uri(pool, id)) == MemoryRef(pool, id, history=True)
    assert parse_uri(f"{uris.history_uri(pool, id)}?cursor=7") == MemoryRef(pool, id, history=True, cursor="7")
    assert parse_uri(uris.session_uri(agent, session)) == SessionUri(agent, session)
    assert parse_uri(uris.entity_uri(pool, entity)) == EntityUri(pool, entity)
    assert uris.entity_uri(pool, entity).isascii()


@pytest.mark.parametrize(
    "uri",
    [
        "", "memory://", "memory://shared", "memory://shared/", "memory://shared/a.b", "memory://shared/*",
        "memory://team/ops", "http://shared/ops", "memory://shared/ops/not-an-id", "memory://shared/ops\n",
        "memory://shared/ops/0198c5d2-7a3e-7b1c-9f00-1234567890ab/future", "memory://agent/alice/session/a b",
        "memory://shared/ops/entity/", "memory://shared/ops/entity/%20", "memory://shared/ops/entity/%FF",
        "memory://shared/ops/entity/a/b", "memory://shared/ops/entity/" + 201 * "x", "memory://ops/entity/x",
        "memory://shared/ops/entity/%00", "memory://shared/ops/0198C5D2-7A3E-7B1C-9F00-1234567890AB", "memory://pools/",
        "memory://shared/ops/0198c5d2-7a3e-7b1c-9f00-1234567890ab/history?cursor=",
        "memory://shared/ops/0198c5d2-7a3e-7b1c-9f00-1234567890ab/history?cursor=x",
        "memory://shared/ops/0198c5d2-7a3e-7b1c-9f00-1234567890ab/history?limit=1",
    ],
)  # fmt: skip
def test_what_is_no_uri_is_invalid(uri: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_uri(uri)
    assert caught.value.detail["field"] == "uri"
