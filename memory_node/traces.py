"""Where a text stands in files: in every form in which the parts of the bus write texts."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PIECE: Final = 96
"""Bytes. A longer text is looked for in pieces of this size, so that a part of it that is left is found as well."""
_STEP: Final = PIECE // 2
_READ: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Trace:
    """A place where a piece of the text stands."""

    file: Path
    offset: int
    form: str


def forms(text: str) -> dict[str, bytes]:
    """``text`` as it may stand in a file, by the name of the form; equal ones once.

    UTF-8 as in MessagePack and in plain payloads; JSON strings with and without escapes for what is not ASCII (a
    slash escaped or not); UTF-16 as some engines keep text.
    """
    plain = json.dumps(text, ensure_ascii=False)[1:-1]
    found: dict[bytes, str] = {}
    for form, data in (
        ("utf-8", text.encode()),
        ("json", plain.encode()),
        ("json, ascii", json.dumps(text)[1:-1].encode()),
        ("json, slashes", plain.replace("/", "\\/").encode()),
        ("utf-16", text.encode("utf-16-le")),
    ):
        found.setdefault(data, form)
    return {form: data for data, form in found.items()}


def pieces(text: str) -> Iterator[tuple[str, bytes]]:
    """All forms of ``text``, in overlapping pieces of at most `PIECE` bytes."""
    for form, data in forms(text).items():
        if len(data) <= PIECE:
            yield form, data
            continue
        for start in range(0, len(data) - PIECE + _STEP, _STEP):
            yield form, data[start : start + PIECE]


def traces(directory: Path, text: str) -> Iterator[Trace]:
    """Where ``text``, or a piece of it, stands in the files under ``directory``: the first place of each piece.

    Files that change or vanish meanwhile are read as they are.
    """
    yield from places(directory, list(dict.fromkeys(pieces(text))))


def places(directory: Path, wanted: Sequence[tuple[str, bytes]]) -> Iterator[Trace]:
    """Where these bytes, each with the name of its form, stand in the files under ``directory``: the first of each."""
    overlap = max((len(data) for _, data in wanted), default=1) - 1
    for file in sorted(path for path in _under(directory) if path.is_file() and not path.is_symlink()):
        yield from _traces_in(file, wanted, overlap)


def _under(directory: Path) -> Iterator[Path]:
    """All that is in ``directory`` and below; a directory that vanishes meanwhile (an index's) holds nothing."""

    def tell(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    for place, _, names in os.walk(directory, onerror=tell):
        yield from (Path(place) / name for name in names)


def _traces_in(file: Path, wanted: Sequence[tuple[str, bytes]], overlap: int) -> Iterator[Trace]:
    remaining = list(wanted)
    before, end = b"", 0
    for position, read in _contents(file):
        window = before + read if position == end else read
        start = position + len(read) - len(window)
        for form, data in list(remaining):
            if (at := window.find(data)) >= 0:
                remaining.remove((form, data))
                yield Trace(file, start + at, form)
        if not remaining:
            return
        before, end = window[-overlap:] if overlap else b"", position + len(read)


def _contents(file: Path) -> Iterator[tuple[int, bytes]]:
    """What ``file`` holds, by offset. Engines make large files of holes: those are passed over."""
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        position, size = 0, os.fstat(descriptor).st_size
        while position < size:
            try:
                position = os.lseek(descriptor, position, os.SEEK_DATA)
                end = os.lseek(descriptor, position, os.SEEK_HOLE)
            except OSError as e:
                if e.errno != errno.ENXIO:
                    raise  # what cannot be read is no proof
                return  # nothing but a hole is left
            while position < end and (read := os.pread(descriptor, min(_READ, end - position), position)):
                yield position, read
                position += len(read)
            if position < end:  # it was cut off meanwhile
                return
    finally:
        os.close(descriptor)
