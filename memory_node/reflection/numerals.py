"""Numbers as people write them, in English and Chinese: ``1,200``, ``fourteen``, ``一千六百五十``."""

from __future__ import annotations

import re
from typing import Final

_ONES: Final = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
} | {"twice": 2, "once": 1, "both": 2, "dozen": 12}
_TENS: Final = {
    word: 10 * value
    for value, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}
_SCALES: Final = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_HAN_DIGITS: Final = dict(zip("零〇一二两三四五六七八九", (0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_HAN_SCALES: Final = {"十": 10, "百": 100, "千": 1000}
_HAN_SECTIONS: Final = {"万": 10**4, "亿": 10**8}
_SUFFIX: Final = {"k": 1000.0, "万": 1e4, "亿": 1e8, "千": 1e3, "million": 1e6, "thousand": 1e3, "billion": 1e9}

_WORD: Final = "|".join(sorted((*_ONES, *_TENS, *_SCALES), key=len, reverse=True))
DIGITS: Final = r"\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,12})?(?!\d)|\d{1,20}(?:\.\d{1,12})?"
"""Arabic numbers, with thousands' separators or without."""
NUMBER: Final = (
    rf"(?:(?<!\d)(?:{DIGITS})(?:\s?(?:million|thousand|billion)\b|k\b|[万亿千](?![一-鿿]?[A-Za-z]))?"
    rf"|\b(?:an?\s+(?=hundred|thousand|dozen))?(?:{_WORD})(?:(?:[-\s]|\sand\s)(?:{_WORD})){{0,5}}\b"
    r"|(?<![零〇一二两三四五六七八九十百千万亿])[零〇一二两三四五六七八九十百千万亿]{1,12})"
)
"""A pattern (case-insensitive, without groups) for whatever `number` understands."""
_DIGITS_AND_SUFFIX: Final = re.compile(rf"({DIGITS})\s?(million|thousand|billion|k|[万亿千])?", re.IGNORECASE)


def number(text: str) -> float | None:
    """The value of a text that `NUMBER` matched; ``None`` if it is none."""
    text = text.strip().casefold()
    if match := _DIGITS_AND_SUFFIX.fullmatch(text):
        return float(match[1].replace(",", "")) * _SUFFIX.get(match[2] or "", 1.0)
    if text and all(c in _HAN_DIGITS or c in _HAN_SCALES or c in _HAN_SECTIONS for c in text):
        return _of_han(text)
    return _of_words(re.split(r"[-\s]+", text))


def _of_words(words: list[str]) -> float | None:
    total = current = 0
    known = False
    for word in words:
        if word in _ONES:
            current = (current or 1) * 12 if word == "dozen" else current + _ONES[word]
        elif word in _TENS:
            current += _TENS[word]
        elif word == "hundred":
            current = (current or 1) * 100
        elif word in _SCALES:
            total += (current or 1) * _SCALES[word]
            current = 0
        elif word not in ("and", "a", "an"):
            return None
        known = known or word not in ("and", "a", "an")
    return float(total + current) if known else None


def _of_han(text: str) -> float | None:
    if not any(c in _HAN_SCALES or c in _HAN_SECTIONS for c in text):
        return float("".join(str(_HAN_DIGITS[c]) for c in text))  # 二〇二六: digit by digit
    total = section = digit = 0
    last_scale = 1
    for c in text:
        if c in _HAN_DIGITS:
            digit = _HAN_DIGITS[c]
            if c in "零〇":
                last_scale = 10
        elif c in _HAN_SCALES:
            section += (digit or 1) * _HAN_SCALES[c]
            digit, last_scale = 0, _HAN_SCALES[c]
        else:
            total += (section + digit or 1) * _HAN_SECTIONS[c]
            section, digit, last_scale = 0, 0, _HAN_SECTIONS[c]
    # What follows a scale without one of its own counts in the next lower one: 一万二 is 12,000, 三百五 is 350.
    tail = digit * last_scale // 10 if digit and last_scale >= 100 and len(text) > 2 else digit
    return float(total + section + tail)
