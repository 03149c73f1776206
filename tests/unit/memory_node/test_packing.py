"""Fitting candidates into the caller's budget."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from afterwit.memory_node.retrieval import Scored, pack
from afterwit.memory_node.tokens import count_tokens
from tests.samples import hit, memory

NOW = datetime(2026, 5, 30, 12, tzinfo=UTC)


def scored(content: str, score: float, **fields: Any) -> Scored:
    signals = {"semantic": 0.8, "keyword": 0.0, "recency": 1.0, "trust": 0.6}
    return Scored(hit(memory(content=content, occurred_at=NOW - timedelta(days=3), **fields)), score, signals)


def packed(candidates: list[Scored], top_k: int = 5, length: int = 500, tokens: int | None = None) -> list[str]:
    items = pack(candidates, top_k=top_k, max_content_length=length, max_tokens=tokens, now=NOW)
    return [item.memory.content for item in items]


def test_the_best_come_first_and_no_more_than_asked_for() -> None:
    assert packed([scored("a", 0.9), scored("b", 0.8), scored("c", 0.7)], top_k=2) == ["a", "b"]


def test_a_long_content_is_cut_and_says_so() -> None:
    (item,) = pack([scored("x" * 100, 1.0)], top_k=1, max_content_length=10, max_tokens=None, now=NOW)
    assert item.memory.content == "x" * 9 + "…"
    assert item.truncated


def test_an_emoji_is_not_cut_in_two() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    (item,) = pack([scored(f"好{family}们都在", 1.0)], top_k=1, max_content_length=5, max_tokens=None, now=NOW)
    assert item.memory.content == "好…"
    cuts = {text[:-1] for n in range(1, 12) for text in packed([scored(f"{family} are {family} here", 1.0)], tokens=n)}
    assert all(cut.count("\u200d") % 2 == 0 for cut in cuts)


def test_large_data_is_left_out_and_says_so() -> None:
    (item,) = pack(
        [scored("x", 1.0, data={"rows": ["y" * 5000]})], top_k=1, max_content_length=10, max_tokens=None, now=NOW
    )
    assert item.memory.data is None
    assert item.truncated


def test_the_token_budget_holds_for_all_items_together() -> None:
    contents = packed([scored("one two three", 0.9), scored("four five six", 0.8), scored("seven", 0.7)], tokens=8)
    assert sum(map(count_tokens, contents)) <= 8
    assert contents[0] == "one two three"


def test_data_counts_and_is_left_out_where_it_finds_no_room() -> None:
    rows = {"rows": ["word"] * 20}
    candidates = [scored("one two three", 0.9, data=rows), scored("four five six", 0.8, data=rows)]
    room = (
        count_tokens("one two three") + count_tokens("four five six") + count_tokens(msgspec.json.encode(rows).decode())
    )
    items = pack(candidates, top_k=2, max_content_length=500, max_tokens=room, now=NOW)
    assert [(item.memory.data, item.truncated) for item in items] == [(rows, False), (None, True)]
    (first, *_) = pack(candidates, top_k=2, max_content_length=500, max_tokens=room - 1, now=NOW)
    assert (first.memory.content, first.memory.data, first.truncated) == ("one two three", None, True)


def test_the_best_is_cut_rather_than_left_out() -> None:
    (content,) = packed([scored("word " * 100, 0.9)], tokens=5)
    assert content.endswith("…")
    assert count_tokens(content) <= 5


def test_an_item_says_why_it_is_there() -> None:
    (item,) = pack([scored("x", 1.0, source="user")], top_k=1, max_content_length=10, max_tokens=None, now=NOW)
    assert "meaning 0.80" in item.why
    assert "3 days old" in item.why
    assert "user" in item.why
