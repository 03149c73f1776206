"""What a node is told that does not go together."""

from __future__ import annotations

import pytest

from afterwit.memory_node.settings import NodeSettings
from afterwit.schemas import Invalid


@pytest.mark.parametrize("what", ["EMBEDDING", "RERANK", "REFLECTION"])
def test_a_model_that_nobody_serves_is_refused(what: str) -> None:
    """Else the node would do without it, and nobody would know."""
    given = {f"AFTERWIT_{what}_MODEL": "some/model"}
    with pytest.raises(Invalid, match="AFTERWIT_INFERENCE_URL") as refused:
        NodeSettings.from_env(given)
    assert refused.value.detail["field"] == f"AFTERWIT_{what}_MODEL"
    NodeSettings.from_env(given | {"AFTERWIT_INFERENCE_URL": "http://127.0.0.1:8000"})


@pytest.mark.parametrize("what", ["RERANK", "REFLECTION"])
def test_a_model_may_be_served_elsewhere(what: str) -> None:
    NodeSettings.from_env({f"AFTERWIT_{what}_MODEL": "some/model", f"AFTERWIT_{what}_URL": "http://127.0.0.1:8001"})
