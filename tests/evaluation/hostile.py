"""Queries that nobody should ask: what is done with them end to end in the node, and how long the slowest takes."""

from __future__ import annotations

import random
import string
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from afterwit.bus.log import Log
from afterwit.memory_node.index import Calibration, EdgeIndex, IndexFilter, IndexQuery, embedding
from afterwit.memory_node.retrieval import PROFILES, Question, has_answer, impersonal, pack, score, time_asked
from afterwit.memory_node.retrieval.finding import Finding
from afterwit.schemas import LogEntry
from tests.embedders import WordEmbedder
from tests.samples import NOON, entry

SLOW_S = 2.0
"""Seconds of CPU time: a hundred times what the slowest takes, and much less than anything that backtracks."""

_QUERIES = 1000
_EMBEDDER = WordEmbedder()


def _mixture(of: str) -> Callable[[random.Random], str]:
    return lambda r: "".join(r.choices(of, k=r.randint(1, 200)))


def _words(of: str) -> Callable[[random.Random], str]:
    return lambda r: " ".join(r.choices(of.split(), k=r.randint(1, 40)))


KINDS: list[Callable[[random.Random], str]] = [
    _mixture(string.printable),
    _mixture("".join(map(chr, range(1, 0xD800)))),
    _mixture("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~。，、；：？！…—·「」"),
    _mixture("😀🎉👩‍👩‍👧‍👦🏳️‍🌈\u200d\ufe0f"),
    _mixture("مرحبا بالعالم שלום עולם \u202e\u202d\u2066\u2069"),
    _mixture("e\u0301a\u0300\u0323n\u0303o\u0308"),
    _mixture(" \t\n\r\x0b\u3000\u00a0x"),
    _words('AND OR NOT NEAR ( ) " * ? ~ ^ + - field:value /.*/ (a+)+$ [[:alpha:]] \\b \\1 %s {0} ${x} <b>'),
    _words("' \" ; -- /* */ SELECT * FROM users WHERE 1=1 OR 'a'='a' DROP TABLE memories; UNION"),
    _words("the of and to in is it was what who when where why how do does did"),
    _words("的 了 是 在 什么 怎么 为什么 谁 吗 呢"),
    _words("last next week month 三 天 前 99999 may 31 february 2026-99-99 between and since 下下下周"),
    _words("KST-231 2.8.1 BH-104882 ../../etc/passwd https://e.org/?a=b#c a@b.c 1,000,000 0x1F -1 1e309"),
    lambda r: "a" * r.randint(1000, 20_000),
    lambda r: "-" * r.randint(1000, 20_000) + "1",
    lambda r: "1 " * r.randint(500, 10_000),
    lambda r: "中" * r.randint(1000, 20_000),
    lambda r: "Ab1-" * r.randint(500, 5000),
    lambda r: "".join(r.choices(string.ascii_letters + "   ", k=20_000)),
]


async def slowest(count: int, directory: Path) -> tuple[float, str]:
    """The CPU seconds that the slowest of ``count`` such queries took, and how it begins. All have been answered."""
    calibration = Calibration.measure(_EMBEDDER)
    chance = random.Random(20261130)  # noqa: S311  # no secret
    profiles = list(PROFILES.values())
    longest = (0.0, "")
    async with await EdgeIndex.open(directory, calibration) as index:
        await index.put(_entries())
        finding = Finding(index, cast("Log", None), calibration)  # the log is for when the index is away
        for i in range(count):
            query = KINDS[i % len(KINDS)](chance)[:20_000]
            began = time.process_time()
            question = Question.of(query, NOON, "Asia/Shanghai")
            where = IndexFilter(pools=("agent/alice",), time_range=time_asked(question, None) if i % 5 == 0 else None)
            asked = impersonal(query, await finding.speakers(query, where))
            vector = (await _embedded(asked)) if i % 3 else None
            hits = await index.search(IndexQuery(text=query, vector=vector, filter=where))
            scored = score(hits, question, profiles[i % len(profiles)])
            answered = has_answer(scored, question) and not await finding.absent(hits, question, where, _embedded)
            items = pack(scored if answered else [], top_k=5, max_content_length=50, max_tokens=40, now=NOON)
            assert len(items) <= 5 * answered
            longest = max(longest, (time.process_time() - began, query[:40]))
    return longest


async def evaluate(console: Console, directory: Path) -> int:
    """Print how a thousand of them went; 1 if one was slow."""
    seconds, query = await slowest(_QUERIES, directory)
    console.print(f"Hostile queries: {_QUERIES} answered, the slowest in {seconds * 1000:.0f} ms: ", end="")
    console.print(repr(query), markup=False)
    return int(seconds > SLOW_S)


async def _embedded(text: str) -> NDArray[np.float32]:
    row: NDArray[np.float32] = _EMBEDDER.embed([text], "query")[0]
    return row


def _entries() -> list[LogEntry]:
    texts = [f"Memory {i}: {word} of 中文 AND 2.8.{i} KST-{i}" for i, word in enumerate(string.ascii_letters)]
    raw = _EMBEDDER.embed(texts, "passage")
    return [
        LogEntry(
            memory=msgspec.structs.replace(
                entry(text).memory, seq=i + 1, occurred_at=NOON - timedelta(days=i), content=text, entities=("users",)
            ),
            change="created",
            actor="alice",
            embedding=embedding(_EMBEDDER.model, vector),
        )
        for i, (text, vector) in enumerate(zip(texts, raw, strict=True))
    ]
