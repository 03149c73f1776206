"""When looking back is worth it."""

from __future__ import annotations

from typing import Final

from ...schemas.trace import Signals, Trigger

LOW_LOGPROB: Final = -1.5
"""Design §5: a mean log-probability under this says that the model was guessing."""


def trigger_of(signals: Signals | None) -> Trigger | None:
    """Why to look back, or ``None`` if nothing calls for it. Without signals it was asked for."""
    if signals is None:
        return "explicit"
    if signals.tool_error:
        return "tool_error"
    if signals.tool_result_empty:
        return "tool_result_empty"
    if signals.mean_logprob is not None and signals.mean_logprob < LOW_LOGPROB:
        return "low_confidence"
    return None
