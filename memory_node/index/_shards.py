"""The directories of an embedded index: the shard that serves and, while it is rebuilt, the next one.

::

    <path>/3/        a shard of the engine
    <path>/current   the number of the shard that serves, written once it holds the whole log

The engine never lets go of what was once written: a point that is overwritten or deleted stays in its write-ahead
log, its payload pages and its payload index, also after `flush`, `optimize` and a restart (measured, 0.9.0). What must
be gone is therefore left behind in a directory that is removed.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from qdrant_edge import (
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    Modifier,
    UpdateOperation,
)

from ...schemas import Unavailable
from ._edge import INDEXES
from ._points import DENSE, WORDS

_CURRENT: Final = "current"


class _Shard:
    """One shard, and how many read it now."""

    def __init__(self, number: int, path: Path, engine: EdgeShard) -> None:
        self.number = number
        self.path = path
        self.engine = engine
        self.readers = 0


class Shards:
    """Blocking; called from the index's threads. One thread at a time may write, begin, swap and abandon."""

    def __init__(self, path: Path, dimensions: int, serving: _Shard, *, complete: bool) -> None:
        self._path = path
        self._dimensions = dimensions
        self._serving = serving
        self._next: _Shard | None = None
        self._complete = complete
        self._idle = threading.Condition()

    @classmethod
    def open(cls, path: Path, dimensions: int) -> Self:
        """The shards under ``path``; an empty one is made if there is none.

        Raises:
            Unavailable: another process has it open, or it cannot be read.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            current = path / _CURRENT
            complete = current.exists()
            numbers = sorted(int(p.name) for p in path.iterdir() if p.is_dir() and p.name.isdecimal())
            number = int(current.read_text("ascii")) if complete else next(iter(numbers), 1)
            serving = _opened(path / str(number), number, dimensions)
            _remove_all_but({str(number), _CURRENT}, path)
        except Exception as e:  # the engine raises bare Exceptions
            if "WouldBlock" in str(e):
                raise Unavailable(f"the index at {path} is in use: an embedded index has one owner") from e
            raise Unavailable(f"the index at {path} cannot be opened: {e}") from e
        return cls(path, dimensions, serving, complete=complete)

    @property
    def complete(self) -> bool:
        """Whether the serving shard was once filled with the whole log."""
        return self._complete

    @contextmanager
    def reading(self) -> Iterator[EdgeShard]:
        """The shard that serves; it stays open as long as the block runs."""
        with self._idle:
            shard = self._serving
            shard.readers += 1
        try:
            yield shard.engine
        finally:
            with self._idle:
                shard.readers -= 1
                self._idle.notify_all()

    @property
    def written(self) -> tuple[EdgeShard, ...]:
        """Where new entries go: while a rebuild runs, to both."""
        return (self._serving.engine,) if self._next is None else (self._serving.engine, self._next.engine)

    @property
    def next(self) -> EdgeShard:
        """The shard that is being built."""
        assert self._next is not None, "no rebuild is under way"
        return self._next.engine

    def begin(self) -> None:
        """Make an empty shard beside the one that serves."""
        number = self._serving.number + 1
        shutil.rmtree(self._path / str(number), ignore_errors=True)
        self._next = _opened(self._path / str(number), number, self._dimensions)

    def swap(self) -> None:
        """Let the new shard serve, and remove the old one once nobody reads it any more."""
        old, new = self._serving, self._next
        assert new is not None, "no rebuild is under way"
        new.engine.flush()
        _write_in_one_step(self._path / _CURRENT, str(new.number))
        with self._idle:
            self._serving, self._next, self._complete = new, None, True
            self._idle.wait_for(lambda: old.readers == 0)
        old.engine.close()
        shutil.rmtree(old.path)

    def abandon(self) -> None:
        """Remove what was built so far; the old shard goes on serving."""
        if self._next is not None:
            abandoned, self._next = self._next, None
            abandoned.engine.close()
            shutil.rmtree(abandoned.path)

    def close(self) -> None:
        """Let go of everything; nobody may be reading."""
        self.abandon()
        self._serving.engine.close()


def _remove_all_but(names: set[str], path: Path) -> None:
    """What a process left that died while it rebuilt, or before it could remove the old shard; and older layouts."""
    for left in path.iterdir():
        if left.name not in names:
            shutil.rmtree(left) if left.is_dir() else left.unlink()


def _opened(path: Path, number: int, dimensions: int) -> _Shard:
    if path.exists() and any(path.iterdir()):
        return _Shard(number, path, EdgeShard.load(str(path)))
    path.mkdir(exist_ok=True)
    config = EdgeConfig(
        vectors={DENSE: EdgeVectorParams(size=dimensions, distance=Distance.Dot)},
        sparse_vectors={WORDS: EdgeSparseVectorParams(modifier=Modifier.Idf)},
    )
    engine = EdgeShard.create(str(path), config)
    for field, index in INDEXES.items():
        engine.update(UpdateOperation.create_field_index(field, index))
    return _Shard(number, path, engine)


def _write_in_one_step(path: Path, text: str) -> None:
    temporary = path.with_suffix(".new")
    with temporary.open("w", encoding="ascii") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    temporary.replace(path)
