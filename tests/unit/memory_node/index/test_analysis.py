from __future__ import annotations

import threading

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from afterwit.memory_node.index import language, sparse_document, sparse_query, terms
from afterwit.memory_node.index.analysis import MAX_QUERY, MAX_QUERY_TERMS, MAX_TERMS, folded, han_share, term_number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The tickets were booked", ["ticket", "book"]),
        ("Marta's seat, the dogs’ bowls", ["marta", "seat", "dog", "bowl"]),
        ("I can't and he doesn’t", []),
        ("Café MÜLLER ＡＢＣ ﬁre", ["cafe", "muller", "abc", "fire"]),
        ("Straße", ["strass"]),
        ("O'Brien", ["obrien"]),
        ("3,400 files", ["3400", "file"]),
        ("12.5 %", ["12.5"]),
    ],
)
def test_english(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "whole", "parts"),
    [
        ("ledgerd 2.8.1", "2.8.1", []),
        ("v2.8.1", "v2.8.1", ["2.8.1"]),
        ("KST-231", "kst-231", ["kst", "231"]),
        ("BH-104882.", "bh-104882", ["bh", "104882"]),
        ("worker-17", "worker-17", ["worker", "17"]),
        ("MAYNEST15", "maynest15", []),
        ("ops@example.org", "ops@example.org", ["org"]),
        ("src/index_test.py", "src/index_test.py", ["index", "test"]),
        ("航班NV418起飞", "nv418", ["航班", "起飞"]),
    ],
)
def test_identifiers_stay_whole_and_are_found_by_their_parts(text: str, whole: str, parts: list[str]) -> None:
    found = terms(text)
    assert whole in found
    assert set(parts) <= set(found)


def test_look_alikes_share_no_whole_term() -> None:
    assert "kst-231" not in terms("KST-213")
    assert "maynest15" not in terms("MAYREST15")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("申请日本旅游签证", ["申请", "日本", "旅游", "签证"]),
        ("上海浦东国际机场", ["上海", "浦东", "国际", "机场", "上海浦东国际机场"]),
        ("为什么呢？", []),
    ],
)
def test_chinese(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Where is my seat?", "en"), ("我的座位在哪里", "zh"), ("NV418 航班几点起飞", "zh"), ("", "en"), ("123", "en")],
)
def test_language(text: str, expected: str) -> None:
    assert language(text) == expected


def test_the_share_of_chinese_lies_between() -> None:
    assert han_share("hello") == 0
    assert han_share("你好") == 1
    assert 0.3 < han_share("please say 你好") < 0.7


def test_folding_unites_case_width_and_accents() -> None:
    assert folded("Ｃafé") == folded("CAFE\u0301") == "cafe"


def test_a_document_weighs_repeated_terms_more_but_less_and_less() -> None:
    weights = [dict(zip(*_of(sparse_document("fox " * n + "a road")), strict=True)) for n in (1, 2, 4)]
    one, two, four = (weight[term_number("fox")] for weight in weights)
    assert one < two < four
    assert four - two < 2 * (two - one)


def test_a_query_counts_each_term_once() -> None:
    query = sparse_query("fox, fox and Fox")
    assert (query.indices, query.values) == ([term_number("fox")], [1.0])


def test_text_without_terms_is_an_empty_vector() -> None:
    assert not sparse_query("the of, and?!")


def test_of_a_long_query_the_beginning_counts() -> None:
    words = [f"w{number}" for number in range(10_000)]
    for joined in (" ".join(words), "、".join(words)):
        assert (
            sparse_query(joined) == sparse_query(joined[:MAX_QUERY]) == sparse_query(" ".join(words[:MAX_QUERY_TERMS]))
        )
    assert not sparse_query("的" * MAX_QUERY + "KST-231")
    assert not sparse_document("")


def test_terms_are_bounded() -> None:
    assert len(terms("a1 " * 3 * MAX_TERMS)) == MAX_TERMS


def test_threads_do_not_share_a_stemmer() -> None:
    words = [f"running{i}ning ticketed flying" for i in range(500)]
    expected = [terms(word) for word in words]
    results: list[list[list[str]]] = []
    threads = [threading.Thread(target=lambda: results.append([terms(word) for word in words])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


@given(st.text(st.characters(exclude_categories=[]), max_size=200))
@example("\U0002ebe1")  # a place for a Han character which is not given to any yet, and so is no letter
def test_any_text_has_terms_and_weights(text: str) -> None:
    assert all(term == folded(term) for term in terms(text) if term.isascii())
    document, query = sparse_document(text), sparse_query(text)
    assert document.indices == query.indices == sorted(set(document.indices))
    assert all(0 < value < 2 for value in document.values)
    assert 0 <= han_share(text) <= 1


def _of(weights: object) -> tuple[list[int], list[float]]:
    return weights.indices, weights.values  # type: ignore[attr-defined]
