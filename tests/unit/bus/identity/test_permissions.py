"""What an agent's credentials allow cannot be widened by any name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterwit.bus import names

AGENTS = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,62}", fullmatch=True)
TRICKY = st.text(alphabet="ab*>. _-$A/\n\u0430", min_size=1, max_size=12)


def matches(pattern: str, subject: str) -> bool:
    """Whether NATS takes ``subject`` for one of ``pattern``."""
    want, have = pattern.split("."), subject.split(".")
    for i, token in enumerate(want):
        if token == ">":
            return len(have) > i
        if i >= len(have) or (token != "*" and token != have[i]):
            return False
    return len(want) == len(have)


@given(AGENTS, AGENTS, st.sampled_from(["store", "get", "forget"]))
def test_an_agent_may_ask_in_its_own_name_only(me: str, other: str, op: str) -> None:
    publish = names.permissions(me, ()).publish
    assert any(matches(p, names.request(me, op)) for p in publish)
    assert any(matches(p, names.request(other, op)) for p in publish) == (me == other)
    assert any(matches(p, names.ingest(other, "shared/team")) for p in publish) == (me == other)


@given(AGENTS, AGENTS, st.lists(AGENTS, max_size=4))
def test_an_agent_hears_its_own_pools_only(me: str, other: str, pools: list[str]) -> None:
    readable = tuple(f"shared/{pool}" for pool in pools)
    subscribe = names.permissions(me, readable).subscribe
    notice = names.changed(f"shared/{other}", "semantic", "x")
    assert any(matches(p, notice) for p in subscribe) == (f"shared/{other}" in readable)
    for theirs in (f"{names.inbox(other)}.x.y", names.rejected(other)):
        assert any(matches(p, theirs) for p in subscribe) == (me == other)


@given(TRICKY)
def test_no_name_breaks_out_of_its_token(name: str) -> None:
    try:
        allowed = names.permissions(name, (f"shared/{name}",))
    except ValueError:
        return
    assert not set(name) & set(".*>$/ \n\u0430")
    wildcards = [token for p in (*allowed.publish, *allowed.subscribe) for token in p.split(".")[:-1] if token in "*>"]
    assert wildcards == ["*"]  # the kind of an ingest subject


@pytest.mark.parametrize("pool", ["shared/*", "shared/>", "*/team", "shared/a.b", "shared/", "team", "shared/a/b"])
def test_no_pool_breaks_out_of_its_key(pool: str) -> None:
    for name in (names.pool_key, names.grants_in_pool, lambda p: names.grant_key(p, "alice"), names.changes_of):
        with pytest.raises(ValueError, match="cannot stand"):
            name(pool)
