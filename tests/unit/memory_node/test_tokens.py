"""Counting tokens from above."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterwit.memory_node.tokens import count_tokens

REAL = [
    ("The quick brown fox jumps over the lazy dog.", 10),
    ("Refunds over 200 euros need the approval of a team lead.", 16),
    ("退货期限是收到货之后三十天以内。", 16),
    ("澄川科技的差旅标准五月起更新：一线城市酒店每晚上限 800 元。", 38),
    ("INC-2041: 18% of requests through quay-gateway came back as 502.", 26),
    ("git commit -m 'fix: retry on 10071' && git push origin main", 21),
    ('{"free_gb": 0, "paths": ["/var/log"], "note": null}', 21),
    ("Caroline: Hey Mel! Good to see you! How have you been?", 16),
    ("SELECT id, name FROM users WHERE created_at > '2026-01-01';", 22),
    ("😀🎉👍", 8),
    ("مرحبا بالعالم", 10),
    ("def f(x: int) -> int:\n    return x + 1\n", 16),
    ("https://example.org/a/b?c=d&e=f#g", 12),
    ("aGVsbG8gd29ybGQsIHRoaXMgaXMgYmFzZTY0", 26),
]
"""Texts, and the most that the vocabularies of GPT-4 (cl100k), GPT-4o (o200k) and Qwen need for them."""


@pytest.mark.parametrize(("text", "needed"), REAL, ids=range(len(REAL)))
def test_no_text_takes_more_than_is_counted(text: str, needed: int) -> None:
    assert needed <= count_tokens(text) <= 2.5 * needed + 2


@given(st.text(max_size=300))
def test_no_more_than_a_token_for_each_byte(text: str) -> None:
    assert 0 <= count_tokens(text) <= len(text.encode("utf-8", "replace")) + 1


@given(st.text(max_size=100), st.text(max_size=100))
def test_more_text_is_not_fewer_tokens(text: str, more: str) -> None:
    assert count_tokens(text + "\n" + more) >= count_tokens(text)


def test_nothing_is_nothing() -> None:
    assert count_tokens("") == 0
