"""A node whose embedder gives vectors at once, so that what is left of a call is ours. Run by `tests.benchmarks.up`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from afterwit.bus.loop import run
from afterwit.memory_node.inference import Role
from afterwit.memory_node.node import main
from afterwit.memory_node.settings import NodeSettings


class StubEmbedder:
    """A text's vector follows from its hash: as long as a real one, alike for the same text, and made in 20 µs."""

    model = "stub/1"
    dimensions = 384

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """See `Embedder.embed`."""
        vectors = np.stack([self._vector(text) for text in texts])
        unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _vector(self, text: str) -> NDArray[np.float64]:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        # Off zero, as real embeddings are: what calibration takes away.
        return np.random.default_rng(seed).standard_normal(self.dimensions) + 1.0


if __name__ == "__main__":
    run(main(NodeSettings.from_env(os.environ), embedder=StubEmbedder()))
