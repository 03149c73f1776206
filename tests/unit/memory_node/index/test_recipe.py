"""Which text of a memory is embedded, and which words find it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import pytest

from afterwit.memory_node.index import RECIPE, embedded_text, embedding, raw_vector, recipe, speaker, terms, turn_before
from afterwit.memory_node.index.analysis import term_number
from afterwit.memory_node.index.recipe import date_words, digest_of, document, left_open, words_text
from afterwit.schemas import LogEntry, Memory
from tests.samples import entry, memory

AT = datetime(2023, 5, 8, 12, tzinfo=UTC)


def weight(entry: LogEntry, word: str) -> float:
    """What the first term of ``word`` weighs in the document of ``entry``; 0 if it is not there."""
    words = document(entry)
    return dict(zip(words.indices, words.values, strict=True)).get(term_number(terms(word)[0]), 0.0)


def turn(content: str, **fields: Any) -> Memory:
    return memory(content, session_id="s1", occurred_at=AT, **fields)


def test_a_vector_travels_in_half_precision() -> None:
    vector = np.array([0.5, -0.123456, 0.001], dtype=np.float32)
    entry = embedding("model/1", vector)
    assert (entry.model, entry.recipe, len(entry.values)) == ("model/1", RECIPE, 6)
    assert np.allclose(raw_vector(entry), vector, atol=1e-3)
    assert raw_vector(entry).dtype == np.float32


def test_bytes_are_little_endian() -> None:
    assert embedding("model/1", np.array([1.0], dtype=np.float32)).values == b"\x00\x3c"


def test_names_tags_and_task_are_words_but_not_meaning() -> None:
    note = memory("She wants the aisle.", entities=("Marta",), tags=("seat",), task_type="flight-booking")
    assert embedded_text(note) == "She wants the aisle."
    assert words_text(note) == "She wants the aisle.\nMarta\nseat\nflight-booking"
    assert weight(entry("靠过道", task_type="订票"), "订票") > 0
    assert recipe(note, has_before=False) == RECIPE


def test_a_turn_is_embedded_with_what_the_turn_before_left_open() -> None:
    answer = turn("Mel: Yes, last Friday!")
    assert embedded_text(answer, "Caroline: Hey Mel! Did you paint?") == "Did you paint?\nMel: Yes, last Friday!"
    assert embedded_text(turn("好的"), "李雷：天气真好。去爬山吗？") == "去爬山吗？\n好的"
    assert embedded_text(turn("好的")) == "好的"
    assert recipe(answer, has_before=True) == recipe(answer, has_before=False) == "context/2"


@pytest.mark.parametrize(
    ("before", "taken_up"),
    [
        ("Ann: Hi! Were you in Rome? I was. And when?", "Were you in Rome? And when?"),
        ("安：你好！去罗马了吗？我去过。什么时候？", "去罗马了吗？ 什么时候？"),
        ("Ann: It is late. I am off to swim.", "I am off to swim."),
        ("安：不早了。我去游泳了。", "我去游泳了。"),
        ("It returned 2.8.1, see https://x.org/?q=1 for it", "It returned 2.8.1, see https://x.org/?q=1 for it"),
        ('Ann: He said "why?" (a photo of a cat)', 'Ann: He said "why?'),
        ("no end", "no end"), ("?", "?"), ("a\nb\n\n", "b"), ("x" * 5000, "x" * 400), ("   ", ""),
    ],
)  # fmt: skip
def test_left_open_are_the_questions_or_else_the_last_sentence(before: str, taken_up: str) -> None:
    assert left_open(before) == taken_up


def test_the_turn_before_lends_its_words_at_half_their_weight() -> None:
    before = turn("Caroline: Did you paint the harbour?")
    alone = entry("Mel: Yes!", session_id="s1", occurred_at=AT)
    together = msgspec.structs.replace(alone, before=turn_before(before))
    assert weight(alone, "harbour") == 0
    assert 0 < weight(together, "harbour") < weight(together, "Mel")
    assert weight(alone, "2023") > 0, "its day is among its words"


def test_the_log_holds_numbers_of_the_words_before_and_not_the_words() -> None:
    kept = turn_before(turn("a very secret harbour"))
    assert b"secret" not in msgspec.msgpack.encode(kept)
    assert len(kept.terms) == 4 * len(terms("a very secret harbour"))


def test_data_is_found_by_a_digest_of_its_texts() -> None:
    result = entry("the query returned 2 rows", data={"rows": [{"name": "Noor Haddad", "id": "KST-231"}], "n": 2})
    assert weight(result, "haddad") > 0
    assert weight(result, "KST-231") > 0
    assert digest_of({"a": ["x", {"b": "y z"}], "c": 3, "d": None}, 100) == "x\ny z"
    assert digest_of({"a": "word", "b": "several words"}, 100, prose=True) == "several words"
    assert len(digest_of(["x" * 90] * 1000, 200)) <= 210
    assert embedded_text(result.memory) == "the query returned 2 rows\nNoor Haddad"


@pytest.mark.parametrize(
    ("content", "who"),
    [
        ("Caroline: Hey Mel!", "Caroline"), ("Mary Ann: hi", "Mary Ann"), ("王小明：你好", "王小明"),
        ("no colon", None), ("http://example.org", None), ("INC-2041: down", None), ("note: this", None),
        ("A: ", None), ("12:30 lunch", None),
    ],
)  # fmt: skip
def test_a_turn_of_talk_begins_with_who_says_it(content: str, who: str | None) -> None:
    assert speaker(memory(content)) == who
    assert speaker(memory(content, kind="fact")) is None


def test_days_are_written_in_the_language_of_the_text() -> None:
    assert date_words(AT, "hello") == "8 May 2023"
    assert date_words(AT, "你好，世界") == "2023年5月8日"
