"""When looking back is worth it."""

from __future__ import annotations

import pytest

from afterwit.memory_node.tracing import trigger_of
from afterwit.schemas import Signals


@pytest.mark.parametrize(
    ("signals", "trigger"),
    [
        (None, "explicit"),
        (Signals(), None),
        (Signals(mean_logprob=-0.4), None),
        (Signals(mean_logprob=-1.5), None),
        (Signals(mean_logprob=-1.51), "low_confidence"),
        (Signals(tool_error=True), "tool_error"),
        (Signals(tool_result_empty=True, mean_logprob=-0.1), "tool_result_empty"),
    ],
)
def test_trigger(signals: Signals | None, trigger: str | None) -> None:
    assert trigger_of(signals) == trigger
