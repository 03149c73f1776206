"""What a node remembers in its main memory, and lets go of when it hears that something was purged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from afterwit.bus.notices import notice_of
from afterwit.memory_node.node import _on_notice
from tests.samples import entry


@pytest.mark.parametrize(
    ("change", "who"),
    [("purged", {"turns", "embeddings", "index", "contextual"}), ("archived", {"turns"}), ("updated", set())],
)
def test_who_lets_go(change: Any, who: set[str]) -> None:
    let_go: dict[str, Any] = {}

    def part(name: str, method: str = "forget") -> Any:
        return SimpleNamespace(**{method: lambda ids=None: let_go.update({name: ids})})

    of = entry(seq=1)
    notice = notice_of(replace(of, change=change))
    _on_notice(
        part("visibility", "on_notice"), part("embeddings", "forget_texts"), part("index"), part("turns"),
        part("contextual"), notice,
    )  # fmt: skip
    assert let_go.pop("visibility") == notice
    assert set(let_go) == who
    assert all(ids in ([of.memory.id], None) for ids in let_go.values())
