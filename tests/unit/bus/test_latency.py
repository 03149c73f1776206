"""Counts and times of operations."""

from __future__ import annotations

from afterwit.bus._latency import Latencies


def test_counts_are_of_all_and_times_of_the_last_ones() -> None:
    latencies = Latencies()
    for n in range(10_000):
        latencies.record("get", 10.0 if n < 5_000 else 0.001 * (n % 100), failed=n % 10 == 0)
    latencies.record("store", 0.5, failed=False)
    summary = latencies.summary()
    assert list(summary) == ["get", "store"]
    assert (summary["get"]["requests"], summary["get"]["errors"]) == (10_000, 1_000)
    assert 45 <= summary["get"]["p50_ms"] <= 55
    assert 95 <= summary["get"]["p99_ms"] <= 99
    assert summary["store"] == {"requests": 1, "errors": 0, "p50_ms": 500.0, "p99_ms": 500.0}
