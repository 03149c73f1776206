"""When what is asked of something named is not there."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from afterwit.memory_node.index import Hit
from afterwit.memory_node.retrieval import Question
from afterwit.memory_node.retrieval.absence import FARTHER, NEAR, Doubt, absent, doubted, unrelated
from afterwit.schemas import Link
from tests import samples
from tests.samples import NOON, memory


def hit(content: str, *entities: str, **fields: Any) -> Hit:
    return samples.hit(memory(content, entities=entities, **fields))


MADEIRA = hit("The walking tour on Madeira needs eight people", "Madeira")
PORTO = hit("The hotel in Porto has a garden", "Porto")
SOFA = hit("林先生买了灰色的沙发", "林先生")
WARDROBE = hit("邱岚的衣柜周六送到", "邱岚")


def doubts(query: str, *hits: Hit) -> Doubt | None:
    return doubted(hits, Question.of(query, NOON))


def test_what_has_none_of_the_other_words_is_doubted() -> None:
    assert doubts("Which hotel is proposed for Madeira?", MADEIRA, PORTO) == Doubt(
        "Which hotel is proposed for someone?", (MADEIRA.id,)
    )
    assert doubts("邱嵐的沙發是什麼顏色", WARDROBE, SOFA) == doubts("邱岚的沙发是什么颜色", WARDROBE, SOFA)
    assert doubts("邱岚的沙发是什么颜色", WARDROBE, SOFA) == Doubt("某人的沙发是什么颜色", (WARDROBE.id,))


@pytest.mark.parametrize(
    "query",
    [
        "How many people does the tour on Madeira need?",
        "Is there anything about Madeira?",
        "What do we know of Madeira",
        "Which hotel has a garden?",
        "Which hotel do we know in Rome?",
    ],
)
def test_where_words_agree_or_all_is_asked_for_there_is_no_doubt(query: str) -> None:
    assert doubts(query, MADEIRA, PORTO) is None


@pytest.mark.parametrize(
    "query", ["邱岚的衣柜什么时候送", "邱嵐的衣櫃什麼時候送", "和邱岚有关的事", "邱岚最近有什么情况"]
)
def test_so_it_is_in_chinese(query: str) -> None:
    assert doubts(query, WARDROBE, SOFA) is None


def test_names_that_are_known_and_never_together_are_no_answer() -> None:
    renner = hit("Tobias Renner likes the aisle", "Tobias Renner")
    skywren = hit("Priya has a Skywren number", "Priya", "Skywren")
    assert doubts("What is the number of Tobias Renner at Skywren?", renner, skywren) == Doubt(
        "What is the number of someone at someone?", ()
    )
    assert doubts("Do Tobias Renner and Priya know Skywren?", renner, skywren) is None, "asked for in turn"
    by_link = hit("Tobias Renner was on it", "Tobias Renner", links=(Link(rel="caused_by", target=skywren.id),))
    assert doubts("Was it on Skywren that Tobias Renner flew?", by_link, skywren) is None


def test_talk_is_left_alone() -> None:
    said = hit("Al: Madeira was lovely", session_id="s1", turn=2)
    assert doubts("Which hotel did they have on Madeira?", said, PORTO) is None
    beside = hit("Al: we were on the beach", session_id="s1", turn=3)
    assert doubts("Which hotel did they have on Madeira?", MADEIRA, beside) is not None, "of other things it may be"


def test_without_vectors_too_little_is_known() -> None:
    blind = [replace(each, semantic=None, cosine=None) for each in (MADEIRA, PORTO)]
    assert doubts("Which hotel is proposed for Madeira?", *blind) is None


def test_a_code_and_a_day_are_no_names() -> None:
    order = hit("BH-104882 was sent in April", "BH-104882")
    assert doubts("What colour is BH-104882?", order) is None
    assert doubts("Which hotel was it in April?", order, PORTO) is None


def test_it_is_absent_if_something_else_is_much_nearer() -> None:
    assert absent(own=0.1, best=0.1 + 2 * FARTHER)
    assert not absent(own=0.1, best=0.1)
    assert not absent(own=NEAR, best=1.0)


def is_foreign(query: str, *found: tuple[str, float, float]) -> bool:
    hits = [samples.hit(memory(content), semantic=meaning, keyword=words) for content, meaning, words in found]
    return unrelated(hits, Question.of(query, NOON))


@pytest.mark.parametrize(("query", "content"), [("Who wrote Hamlet?", "Tea at four"), ("水的沸点是多少？", "四点喝茶")])
def test_a_question_that_nothing_has_to_do_with_has_no_answer(query: str, content: str) -> None:
    assert is_foreign(query, (content, 0.3, 0.0), (content, 0.2, 0.1))
    assert not is_foreign(query, (content, 0.3, 0.0), (content, 0.3, 0.2)), "words"
    assert not is_foreign(query, (content, 0.5, 0.0)), "meaning"
    assert not is_foreign(query.rstrip("?？"), (content, 0.3, 0.0)), "what is looked for by a word or two"


def test_between_languages_less_meaning_is_enough() -> None:
    assert not is_foreign("水的沸点是多少？", ("Water boils at 100 °C", 0.37, 0.0))
    assert is_foreign("水的沸点是多少？", ("四点喝茶", 0.37, 0.0))


def test_a_time_in_the_question_fits_what_happened_then() -> None:
    assert not is_foreign("What was decided in May?", ("Tea at four", 0.2, 0.0))


def test_where_meaning_is_not_known_nothing_is_foreign() -> None:
    assert not unrelated([samples.hit(memory("Tea"), semantic=None)], Question.of("Who wrote Hamlet?", NOON))
