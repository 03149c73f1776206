"""A text is cut between characters as readers see them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterwit.schemas.beginnings import beginning


@pytest.mark.parametrize(
    "character",
    [
        "e\u0301", "が", "か\u3099", "\U0001f44d\U0001f3fd", "❤\ufe0f", "1\ufe0f\u20e3", "\U0001f1e8\U0001f1f3",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\u1112\u1161\u11ab", "\U00020bb7", "\r\n",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "葛\U000e0100",
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", "备份", "backup", "\U0001f1e9\U0001f1ea"])
def test_no_character_is_cut_in_two(before: str, character: str) -> None:
    text = f"{before}{character}{character}完"
    whole = {before, before + character, before + 2 * character, text}
    for most in range(len(before), len(text) + 1):
        assert beginning(text, most) in whole
        assert len(beginning(text, most)) > most - len(character), "and no more than one is left out"


@given(st.text(st.characters(exclude_categories=[]), max_size=100), st.integers(0, 100))
def test_it_is_a_beginning_of_any_text(text: str, most: int) -> None:
    cut = beginning(text, most)
    assert text.startswith(cut)
    assert len(cut) <= most
    assert cut == text or len(text) > most


def test_accents_without_end_are_cut() -> None:
    assert len(beginning("a" + "\u0301" * 1000, 500)) == 500
