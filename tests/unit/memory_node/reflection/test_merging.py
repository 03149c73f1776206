"""What is known twice: merged only if it says exactly the same, and nothing is lost with the one that goes."""

from __future__ import annotations

import itertools
import json
from datetime import timedelta
from typing import Any

import pytest

from afterwit.memory_node.reflection.merging import covers, duplicates, is_compared
from afterwit.schemas import Fact, Memory
from tests.samples import NOON, memory
from tests.shared_data import CASES


def known(content: str, **fields: Any) -> Memory:
    return memory(content, **({"tier": "semantic", "kind": "fact"} | fields))


def merged(*memories: Memory, similarity: float = 0.9) -> tuple[list[tuple[str, str]], list[str]]:
    pairs = [(i, j, similarity) for i, j in itertools.combinations(range(len(memories)), 2)]
    found = duplicates(memories, pairs)
    contents = {each.id: each.content for each in memories}
    return [(contents[m.keeper], contents[m.repeated]) for m in found.merges], [contents[id] for id in found.kept]


def test_the_same_in_other_words_is_merged_into_the_older_one() -> None:
    older = known("The night shift ends at 6:00 in the mill.", created_at=NOON - timedelta(days=1))
    newer = known("In the mill the night shift ends at 6 a.m.")
    zh = (
        known("别给江暮打电话，发短信就行。"),
        known("联系江暮只用短信，不要打电话。", created_at=NOON + timedelta(days=1)),
    )

    assert merged(newer, older) == ([(older.content, newer.content)], [])
    assert merged(*zh, similarity=0.93) == ([(zh[0].content, zh[1].content)], [])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The gym is open on Sundays.", "The gym is closed on Sundays."),
        ("Anna likes tea.", "Anna likes coffee."),
        ("The bakery in Ulm opens at 7.", "The bakery in Kiel opens at 7."),
        ("会议室能坐二十个人。", "会议室最多坐十二个人。"),
        ("The day shift has six people.", "The night shift has six people."),
        ("白班有六个人。", "夜班有六个人。"),
        ("Yuki likes jazz.", "Yuki likes heavy metal."),
        ("Deploys need two reviews.", "Deploys need two reviews from the security team."),
    ],
)
def test_what_is_only_alike_stays(a: str, b: str) -> None:
    assert merged(known(a), known(b), similarity=0.89) == ([], [])


def test_a_cluster_is_judged_pair_by_pair() -> None:
    """It is held together by what is alike; what is not the same within it stays."""
    first, again = known("The pump room is locked at 20:00."), known("At 20:00 the pump room is locked.")
    other = known("The pump room is locked at 22:00.")

    assert merged(first, other, again)[0] in ([(first.content, again.content)], [(again.content, first.content)])


@pytest.mark.parametrize(
    "more",
    [
        {"pinned": True},
        {"labels": ("health",)},
        {"tags": ("ops",)},
        {"entities": ("mill",)},
        {"data": {"source": "board"}},
        {"kind": "lesson"},
        {"valid_from": NOON},
        {"expires_at": NOON},
        {"task_type": "shift"},
        {"fact": Fact(subject="mill", predicate="opens", object="6:00")},
    ],
    ids=str,
)
def test_nothing_goes_that_has_what_the_other_lacks(more: dict[str, Any]) -> None:
    one = known("The mill opens at 6:00.")
    other = known("The mill opens at 6:00.", **more)

    assert not covers(one, other)
    assert covers(one, known("The mill opens at 6:00."))


def test_what_stays_though_it_is_the_same_is_counted() -> None:
    said = "The mill opens at 6:00."
    assert merged(known(said, labels=("a",)), known(said, labels=("b",))) == ([], [said])


def test_the_pinned_and_the_trusted_stay() -> None:
    said = "The mill opens at 6:00."
    trusted, plain = known(said, trust=0.8), known(said, created_at=NOON - timedelta(days=9))
    found = duplicates([plain, trusted], [(0, 1, 1.0)])
    assert [(merge.keeper, merge.repeated) for merge in found.merges] == [(trusted.id, plain.id)]
    pinned = known(said, pinned=True)
    found = duplicates([trusted, pinned], [(0, 1, 1.0)])
    assert [(merge.keeper, merge.repeated) for merge in found.merges] == [(pinned.id, trusted.id)]


def test_events_are_not_compared() -> None:
    """The same may happen twice."""
    assert not is_compared(memory("The mill opens.", kind="tool_result"))
    assert not is_compared(memory("The mill opens."))
    assert not is_compared(known("The mill opens.", status="disputed"))
    assert is_compared(known("The mill opens.", status="candidate"))


@pytest.mark.skipif(not CASES.exists(), reason="the labelled cases are not there")
def test_of_the_labelled_pairs_none_is_merged_that_is_no_duplicate() -> None:
    """Not even where the embedder takes everything for the same."""
    rows = [json.loads(line) for line in (CASES / "contradictions.jsonl").read_text("utf-8").splitlines()]
    for row in rows:
        pair = known(row["a"]), known(row["b"])
        if duplicates(pair, [(0, 1, 0.85)]).merges:
            assert "duplicate" in (row["label"], *row.get("accept", ())), row
