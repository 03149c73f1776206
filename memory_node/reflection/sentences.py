"""Text into sentences, in English and Chinese; and what a tool call says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...schemas.beginnings import beginning
from ..index import language

# A full stop ends a sentence unless it stands in a number, an abbreviation or a name (v2.8.1, e.g., Dr. Amsel, a.b.c).
_END: Final = re.compile(
    r"(?<=[。！？；\n])|(?<=[!?;])\s+|"
    r"(?<![A-Z])(?<!\b[Dd]r)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\be\.g)(?<!\bi\.e)(?<!\bno)(?<=\.)\s+(?=[A-Z0-9\"“'‘(\u4e00-\u9fff])"
)
_CALL: Final = re.compile(r"^\s*(?P<name>[A-Za-z_][\w.]*)\((?P<arguments>.*)\)\s*$", re.DOTALL)

PIECE: Final = 1000
"""Characters. Patterns are tried on pieces of at most this length, so that no text, however odd, takes long."""
_ARGUMENT: Final = re.compile(rf"\b(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\[[^\]]{{0,{PIECE}}}\]|[^,]+)")


def pieces(text: str, most: int = PIECE) -> Iterator[tuple[int, str]]:
    """``text`` in parts of at most ``most`` characters, each with its place; cut between words if possible."""
    start = 0
    while len(text) - start > most:
        window = text[start : start + most]
        cut = max(window.rfind("\n"), window.rfind("。"), window.rfind(". "))
        if cut < most // 2:
            cut = window.rfind(" ")
        end = start + (cut + 1 if cut >= most // 2 else most)
        yield start, text[start:end]
        start = end
    yield start, text[start:]


def sentences(text: str) -> list[str]:
    """The sentences of ``text``, trimmed, none empty."""
    return [part.strip() for part in _END.split(text) if part and part.strip()]


def clauses(text: str) -> list[str]:
    """Parts between commas and stronger marks: what a Chinese sentence is made of."""
    return [
        part.strip()
        for part in re.split(r"(?<!\d)[,，:：](?!\d)|[；;。！？!?]\s*|(?<=\D)\.\s+|\s[-–—]\s", text)
        if part.strip()
    ]


def call(text: str) -> tuple[str, dict[str, str]] | None:
    """Name and arguments of a tool call written as ``name(key='value', …)``; ``None`` if it is none."""
    match = _CALL.match(text)
    if match is None:
        return None
    return match["name"], {key: value.strip().strip("'\"") for key, value in _ARGUMENT.findall(match["arguments"])}


def shortened(text: str, most: int = 200) -> str:
    """``text`` on one line, cut at a word's end, with an ellipsis, if it has more than ``most`` characters."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    cut = beginning(text, most - 1)
    space = cut.rfind(" ")
    return (cut[:space] if space > most * 0.7 else cut).rstrip(" ,;，；") + "…"


def language_of(texts: list[str]) -> str:
    """``en`` or ``zh``: what most of the texts are in."""
    return language("\n".join(texts))
