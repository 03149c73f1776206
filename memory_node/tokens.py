"""How many tokens a text takes in a model's context: counted with the model's own tokenizer, or estimated.

Estimated from above, since a budget that is overrun is worse than one that is not used up: over 2,277 texts of talk,
logs and hostile lines in English and Chinese it is 1.4 times what GPT-4, GPT-4o and Qwen vocabularies need in the
median, and below it in one of a hundred, mostly names and codes alone (tried with their byte-pair tables, which are
too big to come along; see docs/retrieval.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from ..schemas import Invalid

TokenCounter: TypeAlias = Callable[[str], int]
"""Tokens that a text takes, without a model's marks of beginning and end."""

_SETTING: Final = "AFTERWIT_TOKENIZER"
_PIECE: Final = re.compile(
    r"(?P<code>(?=[A-Za-z+/=_]*\d)[A-Za-z0-9+/=_]{12,}|[A-Za-z]*(?:[a-z][A-Z][A-Za-z]*){3,})"
    r"|(?P<word>[A-Za-z]+)"
    r"|(?P<digits>\d+)"
    r"|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])"
    r"|(?P<spaces> {2,})|(?P<blank>[^\S ])|(?P<space> )"
    r"|(?P<mark>[!-~])"
    r"|(?P<wide>[\u2000-\u33ff\uff00-\uffef])"
    r"|(?P<other>.)",
    re.DOTALL,
)
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_VOWELS: Final = frozenset("aeiouy")
_EACH: Final = {"han": 1.6, "blank": 1.0, "spaces": 1.0, "space": 0.0, "mark": 1.0, "wide": 1.5}


def count_tokens(text: str) -> int:
    """Tokens that ``text`` takes, estimated from above."""
    return int(sum(_tokens(match.lastgroup or "", match[0]) for match in _PIECE.finditer(text)) + 0.999)


def _tokens(kind: str, piece: str) -> float:
    if kind in _EACH:
        return _EACH[kind]
    match kind:
        case "word":
            return sum(map(_of_word, _PART.findall(piece)))
        case "digits":
            return len(piece)  # some vocabularies have single digits only
        case "code":
            return 0.9 * len(piece)
        case _:  # scripts with few tokens of their own, emoji: nearly a token for each byte
            return max(1.0, 0.9 * len(piece.encode("utf-8", "replace")))


def _of_word(part: str) -> int:
    length = len(part)
    if length <= 3 and not part[0].isupper():
        return 1
    if part.isupper() or _VOWELS.isdisjoint(part.lower()):
        return (length + 1) // 2 + (length > 3)
    if part[0].isupper():
        return (length + 2) // 3  # mostly names
    return (length + 3) // 4


def counter_of(tokenizer: Path | None) -> TokenCounter:
    """The exact counter of a model's ``tokenizer.json`` (Hugging Face's format), or the estimate without one.

    Raises:
        Invalid: there is no such tokenizer, or the package that reads it is not installed.
    """
    if tokenizer is None:
        return count_tokens
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415  # an extra
    except ImportError as e:
        raise Invalid(f"{_SETTING} needs a package: pip install 'afterwit[tokenizer]'", field=_SETTING) from e
    try:
        model = Tokenizer.from_file(str(tokenizer.expanduser()))
    except Exception as e:  # the package raises nothing narrower
        raise Invalid(f"{_SETTING}: {tokenizer} is not a tokenizer.json of a model ({e})", field=_SETTING) from e
    model.no_truncation()
    model.no_padding()
    return lambda text: len(model.encode(text, add_special_tokens=False))
