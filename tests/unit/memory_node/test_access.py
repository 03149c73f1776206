"""Decisions about pools, over grants that a test chooses."""

from __future__ import annotations

from typing import cast

import pytest

from afterwit.bus.identity import Agents, PoolRegistry
from afterwit.memory_node.access import Access
from afterwit.schemas import AfterwitError, Forbidden, Grant, NotFound
from afterwit.schemas.words import Role
from tests.samples import NOON


class Grants:
    """The part of the registry that decisions read; counts how often."""

    def __init__(self, **roles: Role) -> None:
        self.grants = {
            f"shared/{name}": Grant(role=role, granted_by="olga", at=NOON) for name, role in sorted(roles.items())
        }
        self.reads = 0

    async def grants_of(self, agent: str) -> dict[str, Grant]:
        self.reads += 1
        return self.grants if agent == "alice" else {}

    async def grant_of(self, pool: str, agent: str) -> Grant | None:
        self.reads += 1
        return self.grants.get(pool) if agent == "alice" else None


def access(**roles: Role) -> tuple[Access, Grants]:
    grants = Grants(**roles)
    return Access(cast("PoolRegistry", grants), cast("Agents", None)), grants


async def test_an_agent_owns_its_private_pool_and_no_registry_is_asked() -> None:
    decisions, grants = access()
    await decisions.require("alice", "agent/alice", "owner")
    assert await decisions.readable("alice", ["agent/alice"]) == ("agent/alice",)
    assert grants.reads == 0


async def test_the_private_pool_comes_first_and_then_the_shared_ones_by_name() -> None:
    decisions, _ = access(zebra="reader", ape="owner")
    assert await decisions.readable("alice") == ("agent/alice", "shared/ape", "shared/zebra")
    assert await decisions.writable("alice") == ("agent/alice", "shared/ape")


@pytest.mark.parametrize("pool", ["shared/ops", "agent/alice", "agent/nobody"])
async def test_what_is_not_granted_is_not_there(pool: str) -> None:
    decisions, _ = access(ops="owner")
    assert not await decisions.may_read("bob", pool)
    with pytest.raises(NotFound):
        await decisions.require("bob", pool, "reader")
    with pytest.raises(NotFound):
        await decisions.readable("bob", ["agent/bob", pool])


RANKS: list[Role] = ["reader", "writer", "owner"]


@pytest.mark.parametrize("held", RANKS)
@pytest.mark.parametrize("needed", RANKS)
async def test_a_role_holds_those_below_it(held: Role, needed: Role) -> None:
    decisions, _ = access(ops=held)
    error: AfterwitError | None = None
    try:
        await decisions.require("alice", "shared/ops", needed)
    except AfterwitError as e:
        error = e
    assert (error is None) == (RANKS.index(held) >= RANKS.index(needed))
    assert error is None or isinstance(error, Forbidden)


async def test_a_grant_that_ended_counts_from_the_next_question_on() -> None:
    decisions, grants = access(ops="reader")
    assert await decisions.may_read("alice", "shared/ops")
    grants.grants.clear()
    assert not await decisions.may_read("alice", "shared/ops")
