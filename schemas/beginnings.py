"""Where a text may be cut: never inside what a reader sees as one character."""

from __future__ import annotations

import unicodedata
from typing import Final

_LONGEST: Final = 64
"""Code points of what is seen as one character. Longer ones (accents heaped on a letter) are cut: something must be."""
_JOINER: Final = "\u200d"


def beginning(text: str, most: int) -> str:
    """The longest beginning of ``text`` of at most ``most`` code points that ends between characters as they are seen.

    An accent stays with its letter, the parts of an emoji (joined, coloured, a flag) stay together, and so do the
    letters of a Korean syllable: extended grapheme clusters (Unicode annex 29), but for Indic conjuncts.
    """
    if len(text) <= most:
        return text
    first = max(most - _LONGEST, 0)
    end = next((end for end in range(most, first, -1) if not _goes_on(text, end)), None)
    if end is None:  # the first character takes more than there is room for, or is none that anybody reads
        end = most if first else 0
    return text[:end]


def _goes_on(text: str, at: int) -> bool:
    """Whether what is at ``at`` belongs to the character before it."""
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return before == "\r" and after == "\n"
    if after == _JOINER or unicodedata.category(after) in ("Mn", "Mc", "Me") or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if "\U000e0020" <= after <= "\U000e007f":  # the letters of a tag: the flag of Scotland
        return True
    if before == _JOINER:
        return unicodedata.category(after) == "So"
    if _is_flag_letter(after):
        letters = 0
        while letters < at and _is_flag_letter(text[at - 1 - letters]):
            letters += 1
        return letters % 2 == 1
    return "\u1100" <= before <= "\u11ff" and "\u1160" <= after <= "\u11ff"


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
