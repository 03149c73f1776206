"""What searches have found is kept for the next ones: reading and decoding a memory takes longer than finding it.

Nothing is found through this: it holds what a search has found already, under its filter. Two ways keep it to the
version that is findable. The owner of an embedded index knows of every write, and lets go of what is written, before
and after. On a server, which other nodes write to as well, the sequence is read each time, and compared.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, NamedTuple

from ._conditions import AnyOf, Conditions
from .index import Stored

MAX_BYTES: Final = 64 << 20
"""Of all that is kept, about."""
_EACH: Final = 6144
_FOLD: Final = 8
"""What a version takes: the former, and so many times its JSON. Measured of notes: half of this, and a sixth more than
this when all is made of it that ever is."""
_CORPORA: Final = 32
_TERMS: Final = 2048
"""Of each corpus: about half a megabyte."""
_SILENT: Final = 4096


class Top(NamedTuple):
    """Of a word in a corpus: what it is worth in the memory that it is worth most in, and its idf."""

    score: float
    idf: float


@dataclass(slots=True)
class _Corpus:
    """What is known of one: words (``None``: no memory has it), and how many points it has."""

    tops: dict[int, Top | None] = field(default_factory=dict)
    points: int | None = None


class Kept:
    """The versions that were found last, up to about ``max_bytes``; what words are worth where; who never speaks.

    Ids are as the index has them. Used from several threads.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._versions: OrderedDict[Any, Stored] = OrderedDict()
        self._corpora: OrderedDict[Conditions | None, _Corpus] = OrderedDict()
        self._silent: set[str] = set()
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

    def read(self, ids: Iterable[Any], read: Callable[[list[Any]], Iterable[tuple[Any, Stored]]]) -> dict[Any, Stored]:
        """The versions of ``ids``; ``read`` gives those that are not kept, with their ids.

        Only for an index whose every write is within `changing`.
        """
        with self._lock:
            found = {id: version for id in ids if (version := self._used(id)) is not None}
            changes = self._changes
        missing = [id for id in ids if id not in found]
        if not missing:
            return found
        fresh = dict(read(missing))
        with self._lock:
            # What was read while something was written may be what was there before.
            if self._same_as(changes):
                for id, version in fresh.items():
                    self._keep(id, version)
        return found | fresh

    def same(self, id: str, seq: int, raw: bytes) -> Stored:
        """The version that was just read: as it was kept, if it was."""
        with self._lock:
            version = self._used(id)
            if version is None or version.seq != seq:
                version = Stored(id, seq, raw)
                self._keep(id, version)
            return version

    def tops(self, corpus: Conditions | None, terms: Iterable[int]) -> tuple[dict[int, Top | None], int]:
        """What is known of ``terms`` in ``corpus`` (``None``: no memory has it), and when: see `add_tops`."""
        with self._lock:
            known = self._corpora.get(corpus, _Corpus()).tops
            return {term: known[term] for term in terms if term in known}, self._changes

    def add_tops(self, corpus: Conditions | None, tops: Mapping[int, Top | None], since: int) -> None:
        """``tops`` were read in ``corpus`` after `tops` gave ``since``."""
        with self._lock:
            if self._same_as(since):
                known = self._corpus(corpus).tops
                if len(known) + len(tops) > _TERMS:
                    known.clear()
                known.update(tops)

    def points(self, corpus: Conditions | None, count: Callable[[], int]) -> int:
        """How many points ``corpus`` has; ``count`` tells, if that is not known."""
        with self._lock:
            known, changes = self._corpora.get(corpus, _Corpus()).points, self._changes
        if known is not None:
            return known
        counted = count()
        with self._lock:
            if self._same_as(changes):
                self._corpus(corpus).points = counted
        return counted

    def anybody(self, speakers: Iterable[str], speak: Callable[[], bool]) -> bool:
        """Whether any of ``speakers`` says anything anywhere; ``speak`` tells, if that is not known."""
        with self._lock:
            unheard, changes = self._silent.issuperset(speakers), self._changes
        if unheard:
            return False
        if speak():
            return True
        with self._lock:
            if self._same_as(changes):
                if len(self._silent) >= _SILENT:
                    self._silent.clear()
                self._silent.update(speakers)
        return False

    @contextmanager
    def changing(
        self, ids: Iterable[Any] | None, pools: Set[str] = frozenset(), speakers: Set[str] = frozenset()
    ) -> Iterator[None]:
        """While these (``None``: all) are written, in ``pools``, some of them turns of ``speakers``.

        What was known of all these is not given out any more.
        """
        with self._lock:
            if ids is None:
                self._drop(self._versions.keys())
                self._corpora.clear()
                self._silent.clear()
            else:
                self._drop(ids)
                self._silent -= speakers
                for corpus in [each for each in self._corpora if _concerns(each, pools)]:
                    del self._corpora[corpus]
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

    def _same_as(self, changes: int) -> bool:
        """Whether nothing was written since then."""
        return not self._changing and changes == self._changes

    def _corpus(self, corpus: Conditions | None) -> _Corpus:
        known = self._corpora.setdefault(corpus, _Corpus())
        while len(self._corpora) > _CORPORA:
            self._corpora.popitem(last=False)
        return known

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


def _concerns(corpus: Conditions | None, pools: Set[str]) -> bool:
    """Whether ``corpus``, a choice of pools (see `conditions.corpus`) or all, holds what is written in ``pools``."""
    return corpus is None or any(isinstance(each, AnyOf) and not pools.isdisjoint(each.values) for each in corpus.must)


def _weight(version: Stored) -> int:
    return _EACH + _FOLD * len(version.raw)
