"""Embedders without a model, for tests that are about something else."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from afterwit.memory_node.index import terms
from afterwit.memory_node.inference import Role


class WordEmbedder:
    """Texts that share words are near each other; the same text always has the same vector."""

    model = "words/1"
    dimensions = 64

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        vectors = np.full((len(texts), self.dimensions), 0.01, dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for term in terms(text):
                vector += np.random.default_rng(zlib.crc32(term.encode())).standard_normal(self.dimensions)
        unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return unit
