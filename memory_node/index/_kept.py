"""What searches have found is kept for the next ones: reading and decoding a memory takes longer than finding it.

Nothing is found through this: it holds what a search has found already, under its filter. Two ways keep it to the
version that is findable. The owner of an embedded index knows of every write, and lets go of what is written, before
and after. On a server, which other nodes write to as well, the sequence is read each time, and compared.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final

from .index import Stored

MAX_BYTES: Final = 64 << 20
"""Of all that is kept, about."""
_EACH: Final = 4096
_FOLD: Final = 8
"""What a version takes: measured with all that is made of it, so many times its JSON and the former."""


class Kept:
    """The versions that were found last, up to about ``max_bytes``. Ids are as the engine gives them.

    Used from several threads.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._versions: OrderedDict[Any, Stored] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()
        self._changing = 0
        self._changes = 0

    def __len__(self) -> int:
        return len(self._versions)

    @property
    def size(self) -> int:
        """Bytes, about."""
        return self._bytes

    def read(
        self, ids: Sequence[Any], read: Callable[[list[Any]], Iterable[tuple[Any, int, bytes]]]
    ) -> dict[Any, Stored]:
        """The versions of ``ids``; ``read`` gives those that are not kept, as id, seq and JSON.

        Only for an index whose every write is within `changing`.
        """
        with self._lock:
            found = {id: version for id in ids if (version := self._used(id)) is not None}
            changes = self._changes
        missing = [id for id in ids if id not in found]
        if not missing:
            return found
        fresh = {id: Stored(seq, raw) for id, seq, raw in read(missing)}
        with self._lock:
            # What was read while something was written may be what was there before.
            if not self._changing and changes == self._changes:
                for id, version in fresh.items():
                    self._keep(id, version)
        return found | fresh

    def same(self, id: Any, seq: int, raw: bytes) -> Stored:
        """The version that was just read: as it was kept, if it was."""
        with self._lock:
            version = self._used(id)
            if version is None or version.seq != seq:
                version = Stored(seq, raw)
                self._keep(id, version)
            return version

    @contextmanager
    def changing(self, ids: Iterable[Any] | None) -> Iterator[None]:
        """While these (``None``: all) are written; nothing of them from before is given out from here on."""
        with self._lock:
            self._drop(self._versions.keys() if ids is None else ids)
            self._changing += 1
        try:
            yield
        finally:
            with self._lock:
                self._changing -= 1
                self._changes += 1

    def forget(self, ids: Iterable[Any]) -> None:
        """Let go of these."""
        with self._lock:
            self._drop(ids)

    def _used(self, id: Any) -> Stored | None:
        version = self._versions.get(id)
        if version is not None:
            self._versions.move_to_end(id)
        return version

    def _keep(self, id: Any, version: Stored) -> None:
        self._drop((id,))
        self._versions[id] = version
        self._bytes += _weight(version)
        while self._bytes > self._max_bytes:
            _, oldest = self._versions.popitem(last=False)
            self._bytes -= _weight(oldest)

    def _drop(self, ids: Iterable[Any]) -> None:
        for id in list(ids):
            if (version := self._versions.pop(id, None)) is not None:
                self._bytes -= _weight(version)


def _weight(version: Stored) -> int:
    return _EACH + _FOLD * len(version.raw)
