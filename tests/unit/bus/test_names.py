"""Names: what is built is parsed back, and nothing can break out of its token."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import afterwit
from afterwit.bus import names
from afterwit.schemas import words
from tests.unit.schemas.strategies import by_pattern

POOLS = by_pattern(words.PoolName)
IDS = by_pattern(words.MemoryId)
AGENTS = by_pattern(words.AgentName)
OPS = st.from_regex(r"[a-z_]{1,20}", fullmatch=True)
QUICK = settings(max_examples=50)


@QUICK
@given(agent=AGENTS, op=OPS, pool=POOLS, tier=st.sampled_from(words.TIERS), id=IDS)
def test_what_is_built_is_parsed_back(agent: str, op: str, pool: str, tier: str, id: str) -> None:
    assert names.parse_request(names.request(agent, op)) == (agent, op)
    assert names.parse_ingest(names.ingest(agent, pool)) == (agent, pool)
    assert names.parse_log(names.log(pool, id)) == (pool, id)
    assert names.parse_changed(names.changed(pool, tier, id)) == (pool, tier, id)
    assert names.parse_grant_key(names.grant_key(pool, agent)) == (pool, agent)
    assert names.parse_pool_key(names.pool_key(pool)) == pool


@QUICK
@given(agent=AGENTS, op=OPS, pool=POOLS, tier=st.sampled_from(words.TIERS), id=IDS)
def test_subjects_are_caught_by_the_patterns_meant_for_them(agent: str, op: str, pool: str, tier: str, id: str) -> None:
    assert matches(names.request(agent, op), names.REQUESTS)
    assert matches(names.request(agent, op), names.REQUESTS)
    assert matches(names.log(pool, id), names.log_of_any_pool(id))
    assert matches(names.log(pool, id), names.LOG_SUBJECTS)
    assert matches(names.changed(pool, tier, id), names.changes_of(pool))
    assert matches(names.changed(pool, tier, id), names.CHANGED_SUBJECTS)
    assert matches(names.ingest(agent, pool), names.INGEST_SUBJECTS)
    assert matches(names.grant_key(pool, agent), names.grants_of_agent(agent))
    assert matches(names.grant_key(pool, agent), names.grants_in_pool(pool))
    assert matches(names.pool_key(pool), names.POOL_KEYS)
    assert matches(names.usage(agent, "r-1"), names.USAGE_SUBJECTS)
    assert matches(names.dead("ingest", "t"), names.DEAD_SUBJECTS)


@QUICK
@given(mine=AGENTS, theirs=AGENTS, pool=POOLS, other=POOLS, op=OPS, id=IDS)
def test_an_agents_permissions_reach_nothing_of_others(
    mine: str, theirs: str, pool: str, other: str, op: str, id: str
) -> None:
    allowed = names.permissions(mine, (pool,))
    assert any(matches(names.request(mine, op), p) for p in allowed.publish)
    assert any(matches(names.ingest(mine, other), p) for p in allowed.publish)
    assert any(matches(names.changed(pool, "working", id), p) for p in allowed.subscribe)
    if mine != theirs:
        assert not any(matches(names.request(theirs, op), p) for p in allowed.publish)
        assert not any(matches(names.ingest(theirs, pool), p) for p in allowed.publish)
        assert not any(matches(f"{names.inbox(theirs)}.x", p) for p in allowed.subscribe)
        assert not any(matches(names.rejected(theirs), p) for p in allowed.subscribe)
    if pool != other:
        assert not any(matches(names.changed(other, "working", id), p) for p in allowed.subscribe)
    for subject in ("$JS.API.STREAM.LIST", names.log(pool, id), "$SYS.x", names.changed(pool, "working", id)):
        assert not any(matches(subject, p) for p in allowed.publish)


@pytest.mark.parametrize("evil", ["", "a.b", "*", ">", "a b", "a\n", "a\r\nPUB x", "оps", "a/b", "$JS"])
def test_nothing_breaks_out_of_its_token(evil: str) -> None:
    good = "0198c5d2-7a3e-7b1c-9f00-1234567890ab"
    for attempt in (
        lambda: names.request(evil, "store"),
        lambda: names.request("alice", evil),
        lambda: names.inbox(evil),
        lambda: names.ingest(evil, "shared/ops"),
        lambda: names.ingest("alice", f"shared/{evil}"),
        lambda: names.rejected(evil),
        lambda: names.log("shared/ops", evil),
        lambda: names.log(f"{evil}/ops", good),
        lambda: names.log_of_any_pool(evil),
        lambda: names.changed("shared/ops", evil, good),
        lambda: names.changes_of(f"shared/{evil}"),
        lambda: names.usage("alice", evil),
        lambda: names.dead("log", evil),
        lambda: names.grant_key("shared/ops", evil),
        lambda: names.grants_of_agent(evil),
        lambda: names.permissions(evil, ()),
        lambda: names.permissions("alice", (f"shared/{evil}",)),
    ):
        with pytest.raises(ValueError, match="cannot stand in a subject"):
            attempt()


@pytest.mark.parametrize("evil", ["a.b", "*", ">", "a b", "a\n", ""])
def test_nothing_breaks_out_of_a_key(evil: str) -> None:
    for attempt in (names.pool_key, names.grants_in_pool, lambda pool: names.grant_key(pool, "alice")):
        with pytest.raises(ValueError, match="cannot stand in a subject"):
            attempt(f"shared/{evil}")


@pytest.mark.parametrize(
    "subject", ["", "afterwit.v1.req.a", "afterwit.v1.req.a.b.c", "afterwit.v2.req.a.b", "x.req.a.b"]
)
def test_other_subjects_are_not_parsed(subject: str) -> None:
    with pytest.raises(ValueError, match="is not a req subject"):
        names.parse_request(subject)


def test_names_are_made_nowhere_else() -> None:
    """The root of all subjects stands in one module (and in the tests and documents that spell the contract)."""
    package = Path(afterwit.__file__).parent
    rooms = [(package / room).resolve() for room in ("agents", "bus", "deploy", "memory_node")]
    files = [path for room in rooms for path in room.rglob("*.py")]
    assert len(files) > len(rooms)
    spelt = [path for path in files if re.search(r"[\"']afterwit\.v1\.", path.read_text(encoding="utf-8"))]
    assert not spelt


def matches(subject: str, pattern: str) -> bool:
    """Whether NATS would deliver ``subject`` to a subscription to ``pattern``."""
    expression = re.escape(pattern).replace(r"\*", "[^.]+").replace(">", ".+")
    return re.fullmatch(expression, subject) is not None
