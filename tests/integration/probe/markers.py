"""Unique words that stand for secrets, and the search for them in whatever bytes reach somebody."""

from __future__ import annotations

import base64
import functools
import re
import secrets
import urllib.parse
from dataclasses import dataclass, field

_ESCAPE = re.compile(rb"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret that was found where it may not be."""

    what: str
    where: str
    excerpt: str


@dataclass
class Markers:
    """All secrets by what they are. Letters and digits alone, so that they may stand in any name."""

    secrets: dict[str, str] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)
    """Those that the reader has named itself: to hear them again tells it nothing."""

    def new(self, what: str) -> str:
        """A word that is nowhere else."""
        word = "zq" + "".join(secrets.choice(_ALPHABET) for _ in range(14))
        self.secrets[word] = what
        return word

    def add(self, word: str, what: str) -> None:
        """A word that the system made (an id) and that is a secret as well."""
        self.secrets[word] = what

    def say(self, text: str) -> None:
        """The reader says ``text``: what secrets it names are none any more."""
        self.said |= {word for word in self.secrets if word in text}

    def leaks(self, where: str, data: bytes) -> list[Leak]:
        """The secrets in ``data``, in any encoding, but for those that the reader has said."""
        forms = _decoded(data)
        return [
            Leak(what, where, _around(forms, word))
            for word, what in self.secrets.items()
            if word not in self.said and any(form in text for text in forms for form in _encoded(word))
        ]


def _decoded(data: bytes) -> list[bytes]:
    """``data`` as it is, and with its escapes undone, in lower case; base64 knows cases, so it stays as well."""

    def character(match: re.Match[bytes]) -> bytes:
        return chr(int(match[1] or match[2], 16)).encode("utf-8", "surrogatepass")

    unescaped = _ESCAPE.sub(character, data)
    unquoted = urllib.parse.unquote_to_bytes(data)
    wide = data.replace(b"\0", b"")  # UTF-16 and 32
    return [*dict.fromkeys(form for raw in (data, unescaped, unquoted, wide) for form in (raw, raw.lower()))]


@functools.cache
def _encoded(word: str) -> list[bytes]:
    """``word`` as text, reversed, in hexadecimal, and in base64 wherever it begins within three bytes."""
    raw = word.encode()
    found = [raw, raw[::-1], raw.hex().encode()]
    for offset in range(3):
        whole = base64.b64encode(b"\0" * offset + raw)
        start = (offset * 8 + 5) // 6  # the first sextet that is the word's alone
        end = (offset + len(raw)) * 8 // 6
        found.append(whole[start:end])
    return found


def _around(forms: list[bytes], word: str) -> str:
    for text in forms:
        for form in _encoded(word):
            if (at := text.find(form)) >= 0:
                return text[max(0, at - 80) : at + 80].decode("utf-8", "replace")
    return ""
