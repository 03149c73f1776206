"""A node whose embedder gives vectors at once, and can be told to fail or to be slow: what is killed here is the rest.

The file ``embedder`` in the node's data directory says ``away``, ``slow`` or, if it is not there, nothing. Where
`SPACES` says so, a node moves to the far end of a cable (`tests.chaos.spaces`).
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from afterwit.memory_node.inference import Role
from afterwit.memory_node.node import main
from afterwit.memory_node.settings import NodeSettings
from afterwit.schemas import Unavailable
from tests.benchmarks.stub import StubEmbedder

from .spaces import go_on_in, take

CONTROL: Final = "embedder"
SPACES: Final = "AFTERWIT_CHAOS_SPACES"
_SLOW_S: Final = 0.3


class DoubtfulEmbedder(StubEmbedder):
    """Does what its file says."""

    def __init__(self, control: Path) -> None:
        self._control = control

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """See `Embedder.embed`."""
        match self._control.read_text() if self._control.exists() else "":
            case "away":
                raise Unavailable("the embedder is away")
            case "slow":
                time.sleep(_SLOW_S)
        return super().embed(texts, role)


if __name__ == "__main__":
    if SPACES in os.environ:
        go_on_in(take(Path(os.environ.pop(SPACES))), (sys.executable, "-m", "tests.chaos.node"))
    settings = NodeSettings.from_env(os.environ)
    asyncio.run(main(settings, embedder=DoubtfulEmbedder(settings.data_dir / CONTROL)))
