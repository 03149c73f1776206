"""Counting tokens: from above, and by a model's own tokenizer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterwit.memory_node.tokens import count_tokens, counter_of
from afterwit.schemas import Invalid
from tests.tokenizers import word_tokenizer

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


def test_without_a_tokenizer_tokens_are_estimated() -> None:
    assert counter_of(None) is count_tokens


def test_a_models_tokenizer_counts_exactly_and_all_of_it(tmp_path: Path) -> None:
    count = counter_of(word_tokenizer(tmp_path / "tokenizer.json"))

    assert count("Antidisestablishmentarianism is one word of six.") == 6
    assert count("") == 0


@pytest.mark.parametrize("content", [None, "{}", "not JSON"])
def test_what_is_no_tokenizer_is_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)

    with pytest.raises(Invalid, match=r"AFTERWIT_TOKENIZER: .*tokenizer\.json is not a tokenizer\.json of a model"):
        counter_of(path)


def test_without_its_package_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)

    with pytest.raises(Invalid, match=r"pip install 'afterwit\[tokenizer\]'"):
        counter_of(tmp_path / "tokenizer.json")
