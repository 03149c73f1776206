"""What every embedding model looks like from here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Role: TypeAlias = Literal["query", "passage"]
"""What a text is embedded as: something that is looked for, or something to be found."""


class Embedder(Protocol):
    """Turns texts into vectors. Blocking and safe to call from any thread.

    ``model`` names model and version: vectors of different models never meet.
    """

    @property
    def model(self) -> str:
        """Model and version."""
        ...

    @property
    def dimensions(self) -> int:
        """Of its vectors."""
        ...

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """``(len(texts), dimensions)`` unit vectors, as the model gives them (not calibrated).

        Raises:
            Unavailable: the model gives no usable answer.
        """
        ...
