"""The models that a node asks, together."""

from __future__ import annotations

from dataclasses import dataclass

from .batching import EmbeddingClient
from .remote import Reranker


@dataclass(frozen=True, slots=True)
class Models:
    """What there is: an embedder always, a cross-encoder where an inference service has one."""

    embeddings: EmbeddingClient
    reranker: Reranker | None = None
