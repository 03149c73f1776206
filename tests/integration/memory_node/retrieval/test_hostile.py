"""Queries that nobody should ask: none fails, none takes long. The evaluation asks a thousand."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from afterwit.schemas import Retrieve
from tests.evaluation.hostile import KINDS, SLOW_S, slowest

_QUERIES = 6 * len(KINDS)


async def test_hostile_queries_are_answered(tmp_path: Path) -> None:
    seconds, query = await slowest(_QUERIES, tmp_path)
    assert seconds < SLOW_S, f"{seconds:.2f} s for {query!r}"


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_such_queries_are_requests_as_any(kind: int) -> None:
    query = KINDS[kind](random.Random(kind)).replace("\0", " ")  # noqa: S311  # no secret
    if query.strip():
        assert msgspec.convert({"query": query}, Retrieve).query == query
