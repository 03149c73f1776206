"""A node whose embedder gives vectors at once, and can be told to fail or to be slow: what is killed here is the rest.

The file ``embedder`` in the node's data directory says ``away``, ``slow`` or, if it is not there, nothing. A node moves
to the far end of a cable (`tests.engines.cables`) that no other one has, where `SPACES` names namespaces.
"""

from __future__ import annotations

import asyncio
import fcntl
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

CONTROL: Final = "embedder"
SPACES: Final = "AFTERWIT_CHAOS_SPACES"
"""A directory in which each file is named as a network namespace; who has locked it is in there."""
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


def move_to_space(directory: Path) -> None:
    """Go on in a namespace that is free, under the same process id, until the process ends."""
    for space in sorted(directory.iterdir()):
        lock = os.open(space, os.O_RDWR)
        os.set_inheritable(lock, True)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        os.environ.pop(SPACES)
        inside = ("ip", "netns", "exec", space.name, sys.executable, "-m", "tests.chaos.node")
        os.execvp(inside[0], inside)  # noqa: S606  # no shell is what is wanted
    raise RuntimeError(f"no namespace is free in {directory}")


if __name__ == "__main__":
    if SPACES in os.environ:
        move_to_space(Path(os.environ[SPACES]))
    settings = NodeSettings.from_env(os.environ)
    asyncio.run(main(settings, embedder=DoubtfulEmbedder(settings.data_dir / CONTROL)))
