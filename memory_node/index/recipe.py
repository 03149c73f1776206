"""Which text of a memory is embedded and which is matched by words, and how a vector travels in the log."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from afterwit.schemas import Embedding, Memory

RECIPE: Final = "content/1"
"""How `embedded_text` makes its text; stands beside each vector in the log."""


def embedded_text(memory: Memory) -> str:
    """The text whose vector stands for ``memory``: its content."""
    return memory.content


def words_text(memory: Memory) -> str:
    """The text whose words find ``memory``: its content, and the names and tags that were given with it."""
    return "\n".join((memory.content, *memory.entities, *memory.tags))


def embedding(model: str, vector: NDArray[np.float32]) -> Embedding:
    """``vector``, as ``model`` gave it, for the log: little-endian half precision."""
    return Embedding(model=model, recipe=RECIPE, values=vector.astype("<f2").tobytes())


def raw_vector(embedding: Embedding) -> NDArray[np.float32]:
    """The vector of a log entry, as the model gave it."""
    return np.frombuffer(embedding.values, dtype="<f2").astype(np.float32)
