"""A thousand queries that nobody should ask: none fails, none takes long."""

from __future__ import annotations

import random
import string
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from afterwit.memory_node.index import Calibration, EdgeIndex, IndexFilter, IndexQuery, embedding
from afterwit.memory_node.retrieval import PROFILES, Question, has_answer, pack, score
from afterwit.schemas import LogEntry, Retrieve
from tests.embedders import WordEmbedder
from tests.samples import NOON, entry

_QUERIES = 1000
_SLOW_S = 2.0
"""Seconds of CPU time: a hundred times what the slowest takes, and much less than anything that backtracks."""


def _mixture(of: str) -> Callable[[random.Random], str]:
    return lambda r: "".join(r.choices(of, k=r.randint(1, 200)))


def _words(of: list[str]) -> Callable[[random.Random], str]:
    return lambda r: " ".join(r.choices(of, k=r.randint(1, 40)))


KINDS: list[Callable[[random.Random], str]] = [
    _mixture(string.printable),
    _mixture("".join(map(chr, range(1, 0xD800)))),
    _mixture("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~。，、；：？！…—·「」"),
    _mixture("😀🎉👩‍👩‍👧‍👦🏳️‍🌈\u200d\ufe0f"),
    _mixture("مرحبا بالعالم שלום עולם \u202e\u202d\u2066\u2069"),
    _mixture("e\u0301a\u0300\u0323n\u0303o\u0308"),
    _mixture(" \t\n\r\x0b\u3000\u00a0x"),
    _words(
        [
            "AND",
            "OR",
            "NOT",
            "NEAR",
            "(",
            ")",
            '"',
            "*",
            "?",
            "~",
            "^",
            "+",
            "-",
            "field:value",
            "/.*/",
            "(a+)+$",
            "[[:alpha:]]",
            "\\b",
            "\\1",
            "%s",
            "{0}",
            "${x}",
            "<b>",
        ]
    ),
    _words(
        [
            "'",
            '"',
            ";",
            "--",
            "/*",
            "*/",
            "SELECT",
            "*",
            "FROM",
            "users",
            "WHERE",
            "1=1",
            "OR",
            "'a'='a'",
            "DROP",
            "TABLE",
            "memories;",
            "UNION",
        ]
    ),
    _words(
        [
            "the",
            "of",
            "and",
            "to",
            "in",
            "is",
            "it",
            "was",
            "what",
            "who",
            "when",
            "where",
            "why",
            "how",
            "do",
            "does",
            "did",
        ]
    ),
    _words(["的", "了", "是", "在", "什么", "怎么", "为什么", "谁", "吗", "呢"]),
    _words(
        [
            "last",
            "next",
            "week",
            "month",
            "三",
            "天",
            "前",
            "99999",
            "may",
            "31",
            "february",
            "2026-99-99",
            "between",
            "and",
            "since",
            "下下下周",
        ]
    ),
    _words(
        [
            "KST-231",
            "2.8.1",
            "BH-104882",
            "../../etc/passwd",
            "https://e.org/?a=b#c",
            "a@b.c",
            "1,000,000",
            "0x1F",
            "-1",
            "1e309",
        ]
    ),
    lambda r: "a" * r.randint(1000, 20_000),
    lambda r: "-" * r.randint(1000, 20_000) + "1",
    lambda r: "1 " * r.randint(500, 10_000),
    lambda r: "中" * r.randint(1000, 20_000),
    lambda r: "Ab1-" * r.randint(500, 5000),
    lambda r: "".join(r.choices(string.ascii_letters + "   ", k=20_000)),
]


@pytest.mark.slow
async def test_a_thousand_hostile_queries_are_answered(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    calibration = Calibration.measure(embedder)
    texts = [f"memory {i}: {word} of 中文 AND 2.8.{i} KST-{i}" for i, word in enumerate(string.ascii_letters)]
    raw = embedder.embed(texts, "passage")
    entries = [
        LogEntry(
            memory=msgspec.structs.replace(
                entry(text).memory, seq=i + 1, occurred_at=NOON - timedelta(days=i), content=text
            ),
            change="created",
            actor="alice",
            embedding=embedding(embedder.model, vector),
        )
        for i, (text, vector) in enumerate(zip(texts, raw, strict=True))
    ]
    random_ = random.Random(20261130)  # noqa: S311  # no secret
    slowest = (0.0, "")
    profiles = list(PROFILES.values())
    async with await EdgeIndex.open(tmp_path, calibration) as index:
        await index.put(entries)
        for i in range(_QUERIES):
            query = KINDS[i % len(KINDS)](random_)[:20_000]
            vector = embedder.embed([query], "query")[0] if i % 3 else None
            began = time.process_time()
            question = Question.of(query, NOON, "Asia/Shanghai")
            where = IndexFilter(pools=("agent/alice",))
            hits = await index.search(IndexQuery(text=query, vector=vector, filter=where))
            scored = score(hits, question, profiles[i % len(profiles)])
            assert has_answer(scored, question) in {True, False}
            assert len(pack(scored, top_k=5, max_content_length=50, max_tokens=40, now=NOON)) <= 5
            slowest = max(slowest, (time.process_time() - began, query[:80]))
    assert slowest[0] < _SLOW_S, f"{slowest[0]:.2f} s for {slowest[1]!r}"


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_such_queries_are_requests_as_any(kind: int) -> None:
    query = KINDS[kind](random.Random(kind)).replace("\0", " ")  # noqa: S311  # no secret
    if query.strip():
        assert msgspec.convert({"query": query}, Retrieve).query == query
