"""Which memories mean the same by one name; vectors are made by hand, so that nothing hangs on a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from afterwit.memory_node.retrieval.naming import NameKind, kind_of, names_of
from afterwit.memory_node.retrieval.senses import Mention, senses
from afterwit.schemas import Fact
from tests.samples import memory


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("Jordan", "Remind Jordan that the slides are due.", "person"),
        ("Jordan", "Jordan prefers the window seat.", "person"),
        ("Jordan", "Jordan forgot her badge again.", "person"),
        ("Jordan", "The train to Jordan leaves at noon.", "place"),
        ("Apple", "Apple released a new laptop.", "organisation"),
        ("Apple", "The recipe needs one apple.", "thing"),
        ("Apple", "The parcel came, and Apple was on the label.", "named"),
        ("Jordan", "Jordan is 43 degrees hot.", None),
        ("黎明", "采访黎明的录音要整理好。", "person"),
        ("杜鹃", "杜鹃答应周五前交设计稿。", "person"),
        ("凤凰", "去凤凰的高铁改点了。", "place"),
        ("苹果", "苹果公布了季度财报。", "organisation"),
        ("苹果", "他每天早上吃一个苹果。", "thing"),
        ("蘋果", "蘋果公佈了季度財報。", "organisation"),
        ("黎明", "採訪黎明的錄音要整理好。", "person"),
        ("苹果", "箱子里有苹果。", None),
        ("C++ (old)", "He likes C++ (old) more.", "named"),
    ],
)
def test_the_words_beside_a_name_say_its_kind(name: str, text: str, kind: NameKind | None) -> None:
    assert kind_of(name, text) == kind


def test_a_memory_names_its_entities_and_what_its_fact_is_about() -> None:
    fact = Fact(subject="The Depot", predicate="opens at", object="7 o'clock")
    named = names_of(memory(entities=("Élias Quay", "depot"), fact=fact))
    assert named == {"eliasquay": "Élias Quay", "depot": "The Depot", "7oclock": "7 o'clock"}


def alike(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return vectors @ vectors.T


def mentions(*spoken: tuple[str, int], beside: Sequence[frozenset[str]] = ()) -> list[Mention]:
    """Texts, each in one of some contexts that are .1 alike; within one they are .7 alike."""
    made = []
    for i, (text, context) in enumerate(spoken):
        vector = np.zeros(40, dtype=np.float32)
        vector[0], vector[1 + context], vector[10 + i] = 0.1**0.5, 0.6**0.5, 0.3**0.5
        made.append(Mention(text, beside[i] if beside else frozenset(), vector))
    return made


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("Jordan", ["Jordan said no.", "Call Jordan.", "Hotels in Jordan are full.", "The road to Jordan is closed."]),
        ("杜鹃", ["给杜鹃订座位。", "杜鹃说合同要改。", "她种了杜鹃。", "山上的杜鹃开了。"]),
        ("Apple", ["Apple released it.", "We pay, but Apple charges twice.", "An apple a day.", "Peel the apple."]),
    ],
)
def test_kinds_that_exclude_each_other_are_two(name: str, texts: list[str]) -> None:
    spoken = mentions(*((text, i // 2) for i, text in enumerate(texts)))
    assert senses(name, spoken, alike) == [[0, 1], [2, 3]]


def test_what_says_nothing_goes_where_its_context_is() -> None:
    spoken = mentions(("Jordan said no.", 0), ("In Jordan it rains.", 1), ("Jordan again.", 1), ("Jordan, too.", 0))
    assert senses("Jordan", spoken, alike) == [[0, 3], [1, 2]]
    alone = mentions(("Jordan said no.", 0), ("In Jordan it rains.", 1), ("Jordan again.", 2))
    assert len(senses("Jordan", alone, alike)) == 2


def test_what_is_named_beside_it_joins_contexts() -> None:
    beside = [frozenset({"amman"}), frozenset(), frozenset({"amman"})]
    spoken = mentions(("In Jordan it rains.", 0), ("Jordan said no.", 1), ("Jordan again.", 2), beside=beside)
    assert senses("Jordan", spoken, alike) == [[0, 2], [1]]


def test_two_people_of_one_name_are_told_by_what_they_do() -> None:
    two = mentions(*((f"Alex Kim {i}", i % 2) for i in range(8)))
    assert senses("Alex Kim", two, alike) == [[0, 2, 4, 6], [1, 3, 5, 7]]


@pytest.mark.parametrize("name", ["Alex Kim", "王伟"])
def test_one_person_with_more_than_one_side_is_one(name: str) -> None:
    few = mentions(*((f"{name} {i}", 0 if i < 6 else 1) for i in range(8)))
    assert senses(name, few, alike) == [list(range(8))], "two memories are no second person"
    scattered = mentions(*((f"{name} {i}", i) for i in range(8)))
    assert senses(name, scattered, alike) == [list(range(8))]
    beside = [frozenset({"both"}) if i in (0, 7) else frozenset[str]() for i in range(8)]
    joined = mentions(*((f"{name} {i}", i % 2) for i in range(8)), beside=beside)
    assert senses(name, joined, alike) == [list(range(8))], "something else is named on both sides"


def test_a_capital_letter_alone_makes_no_second_thing() -> None:
    spoken = mentions(*((text, 0) for text in ("restart nginx", "then Nginx answers", "nginx is slow")))
    assert senses("nginx", spoken, alike) == [[0, 1, 2]]


def test_a_code_is_one_thing() -> None:
    spoken = mentions(("Call BH-104 back.", 0), ("in BH-104", 1))
    assert senses("BH-104", spoken, alike) == [[0, 1]]


def test_without_vectors_the_words_decide() -> None:
    spoken = [Mention(text, frozenset(), None) for text in ("Jordan said no.", "In Jordan it rains.", "Jordan")]
    assert [len(group) for group in senses("Jordan", spoken, alike)] == [2, 1]
    assert senses("Jordan", [], alike) == []
