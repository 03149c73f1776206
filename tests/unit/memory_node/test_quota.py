from __future__ import annotations

import pytest

from afterwit.bus.rpc import Caller
from afterwit.memory_node import quota
from afterwit.memory_node.quota import Cost, Limits, Quotas, cost_of
from afterwit.schemas import Pools, PoolsReply, Quota, Store, StoreMany, Update


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


ONE = Cost(requests=1)


def test_a_burst_passes_and_then_the_rate_holds() -> None:
    clock = Clock()
    quotas = Quotas(Limits(requests=10, burst_s=2), clock)
    for _ in range(21):  # one more than the burst: what is left goes below nothing once
        quotas.admit("alice", ONE)
    with pytest.raises(Quota) as refused:
        quotas.admit("alice", ONE)
    assert refused.value.detail == {"retry_after_s": 0.1, "quota": "requests"}
    clock.now += 0.1
    quotas.admit("alice", ONE)
    with pytest.raises(Quota):
        quotas.admit("alice", ONE)
    quotas.admit("bob", ONE)


def test_what_is_refused_costs_nothing() -> None:
    clock = Clock()
    quotas = Quotas(Limits(requests=1, burst_s=1), clock)
    quotas.admit("alice", Cost(requests=2))
    for _ in range(10):
        with pytest.raises(Quota):
            quotas.admit("alice", ONE)
    clock.now += 1
    quotas.admit("alice", ONE)


def test_one_thing_larger_than_the_burst_passes_and_is_paid_for_afterwards() -> None:
    clock = Clock()
    quotas = Quotas(Limits(bytes=1000, burst_s=1), clock)
    quotas.admit("alice", Cost(bytes=10_000))
    with pytest.raises(Quota) as refused:
        quotas.admit("alice", Cost(bytes=1))
    assert refused.value.detail["retry_after_s"] == 9.0
    quotas.admit("alice", ONE)  # of another kind
    clock.now += 9
    quotas.admit("alice", Cost(bytes=1))


def test_items_have_their_turn_one_after_the_other() -> None:
    quotas = Quotas(Limits(items=10, burst_s=0.1), Clock())
    turns = [quotas.reserve("alice", Cost(items=1)) for _ in range(5)]
    assert turns == pytest.approx([0, 0, 0.1, 0.2, 0.3])


def test_zero_is_no_limit() -> None:
    quotas = Quotas(Limits(requests=0), Clock())
    for _ in range(1000):
        quotas.admit("alice", ONE)
    assert quotas.reserve("alice", Cost(items=10**9)) == 0


def test_agents_whose_allowance_is_full_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota, "_MOST_AGENTS", 3)
    clock = Clock()
    quotas = Quotas(Limits(requests=1, burst_s=1), clock)
    for n in range(100):
        quotas.admit(f"a{n}", ONE)
        clock.now += 1
    assert len(quotas._buckets) <= 3
    quotas.admit("debtor", Cost(requests=100))
    for n in range(10):
        quotas.admit(f"b{n}", ONE)
        clock.now += 1
    with pytest.raises(Quota):
        quotas.admit("debtor", ONE)


def test_the_cost_is_what_is_to_be_kept() -> None:
    assert cost_of(Pools()) == ONE
    assert cost_of(Store(content="x" * 10, data={"a": 1})) == Cost(requests=1, bytes=17)
    update = Update(id="0190f5fe-0000-7000-8000-000000000000", expected_version=1, content="xy")
    assert cost_of(update) == Cost(requests=1, bytes=2)
    many = StoreMany(items=({"content": "abc"}, {"content": 7, "data": [1]}, {}))
    assert cost_of(many) == Cost(requests=1, bytes=6, items=3)


async def test_a_guarded_operation_is_not_even_asked() -> None:
    asked: list[str] = []

    async def pools(caller: Caller, request: Pools) -> PoolsReply:
        asked.append(caller.agent)
        return PoolsReply(pools=())

    guarded = Quotas(Limits(requests=1, burst_s=1), Clock()).guarding({"pools": pools})["pools"]
    await guarded(Caller("alice"), Pools())
    await guarded(Caller("alice"), Pools())
    with pytest.raises(Quota):
        await guarded(Caller("alice"), Pools())
    await guarded(Caller("bob"), Pools())
    assert asked == ["alice", "alice", "bob"]
