"""Traditional and simplified characters are compared as the same, wherever words are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterwit.memory_node.index import bare, folded, sparse_document, sparse_query, terms
from afterwit.memory_node.simplified import simplified


@pytest.mark.parametrize(
    ("traditional", "plain"),
    [
        ("伺服器備份", "伺服器备份"),
        ("資料庫在週三晚上還原", "资料库在周三晚上还原"),
        ("臺灣與台灣", "台湾与台湾"),
        ("KST-231 的發票", "KST-231 的发票"),
        ("备份 backup 済", "备份 backup 済"),
        ("", ""),
    ],
)
def test_each_character_becomes_one(traditional: str, plain: str) -> None:
    assert simplified(traditional) == plain
    assert simplified(plain) == plain


@given(st.text(st.characters(exclude_categories=[]), max_size=100))
def test_places_stay_the_same_in_any_text(text: str) -> None:
    assert len(simplified(text)) == len(text)


@pytest.mark.parametrize(
    ("traditional", "plain"),
    [
        ("資料庫的備份每週三還原一次", "资料库的备份每周三还原一次"),
        ("為什麼機場的航班延誤了？", "为什么机场的航班延误了？"),
        ("三月廿號與陳偉見過面", "三月廿号与陈伟见过面"),
    ],
)
def test_both_have_the_same_terms_names_and_weights(traditional: str, plain: str) -> None:
    assert terms(traditional) == terms(plain)
    assert folded(traditional) == folded(plain)
    assert bare(f"「{traditional}」") == bare(f"「{plain}」")
    assert sparse_document(traditional) == sparse_document(plain)
    assert sparse_query(traditional) == sparse_query(plain)


def test_words_of_the_other_writing_are_shared() -> None:
    assert "备份" in {*terms("伺服器備份")} & {*terms("服务器备份")}
    assert {"@wed", "@03-12"} <= {*terms("三月十二號，週三")}
