"""A node whose embedder gives vectors at once, so that what is left of a call is ours. Run by `tests.benchmarks.up`."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from afterwit.bus.loop import run
from afterwit.memory_node.inference import Role
from afterwit.memory_node.node import main
from afterwit.memory_node.settings import NodeSettings


class StubEmbedder:
    """A text's vector is the sum of its words': as long as a real one, near those of like texts, made in 30 µs."""

    model = "stub/2"
    dimensions = 384

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """See `Embedder.embed`."""
        vectors = np.stack([sum(map(_of_word, text.split()), _COMMON) for text in texts])
        unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return unit


@functools.lru_cache(maxsize=100_000)
def _of_word(word: str) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
    return np.random.default_rng(seed).standard_normal(StubEmbedder.dimensions)


_COMMON: Final = np.ones(StubEmbedder.dimensions)
"""All real embeddings share a part, which calibration takes away."""


if __name__ == "__main__":
    run(main(NodeSettings.from_env(os.environ), embedder=StubEmbedder()))
