from __future__ import annotations

import numpy as np

from afterwit.memory_node.index import RECIPE, embedded_text, embedding, raw_vector
from afterwit.memory_node.index.recipe import words_text
from tests.samples import memory


def test_a_vector_travels_in_half_precision() -> None:
    vector = np.array([0.5, -0.123456, 0.001], dtype=np.float32)
    entry = embedding("model/1", vector)
    assert (entry.model, entry.recipe, len(entry.values)) == ("model/1", RECIPE, 6)
    assert np.allclose(raw_vector(entry), vector, atol=1e-3)
    assert raw_vector(entry).dtype == np.float32


def test_bytes_are_little_endian() -> None:
    assert embedding("model/1", np.array([1.0], dtype=np.float32)).values == b"\x00\x3c"


def test_names_and_tags_are_words_but_not_meaning() -> None:
    note = memory("She wants the aisle.", entities=("Marta",), tags=("seat",))
    assert embedded_text(note) == "She wants the aisle."
    assert words_text(note) == "She wants the aisle.\nMarta\nseat"
