from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pytest

from afterwit.memory_node.reflection.patterns import Pattern, find_patterns
from afterwit.schemas import Memory
from tests.samples import NOON, memory


def _episodes(names: Sequence[str], *told: tuple[str, str]) -> list[Memory]:
    return [
        memory(
            text,
            kind="episode",
            entities=tuple(names),
            data={"outcome": outcome},
            occurred_at=NOON + timedelta(days=day),
        )
        for day, (outcome, text) in enumerate(told)
    ]


def _places(episodes: Sequence[Memory], ids: Sequence[str]) -> list[int]:
    order = [episode.id for episode in episodes]
    return [order.index(id) for id in ids]


def _only(found: Sequence[Pattern]) -> Pattern:
    assert len(found) == 1
    return found[0]


def test_what_keeps_going_wrong_is_a_pattern_with_its_counter_example() -> None:
    episodes = _episodes(
        ["importer", "Vega"],
        ("failure", "The importer dropped rows from Vega, the encoding was wrong."),
        ("failure", "Rows from Vega lost, encoding again."),
        ("success", "Vega import without trouble."),
        ("failure", "Vega: encoding broken, half of the rows missing."),
    )
    found = _only(find_patterns(episodes))
    assert (found.form, _places(episodes, found.supporting), _places(episodes, found.contradicting)) == (
        "recurring",
        [0, 1, 3],
        [2],
    )
    assert found.confidence == pytest.approx(4 / 7)
    assert "Vega" in found.about
    assert episodes[_places(episodes, [found.central])[0]].content in found.statement


def test_two_of_ten_are_no_pattern() -> None:
    told = [("success", f"Import {i} went through.") for i in range(8)]
    assert find_patterns(_episodes(["importer"], *told, ("failure", "Disk full."), ("failure", "Wrong key."))) == []


def test_half_and_half_is_no_pattern() -> None:
    told = [("failure", "Import failed, disk."), ("success", "Import fine.")] * 3
    assert [found for found in find_patterns(_episodes(["importer"], *told)) if found.form != "condition"] == []


def test_a_condition_is_told_from_what_goes_well_without_it() -> None:
    episodes = _episodes(
        ["发货"],
        ("failure", "没核对地址就发货，包裹退回。"),
        ("success", "核对地址后发货，顺利签收。"),
        ("failure", "忙，没核对地址，送错小区。"),
        ("success", "先核对地址，一次送到。"),
        ("failure", "又没核对地址，客户投诉。"),
    )
    found = _only(find_patterns(episodes))
    assert found.form == "condition"
    assert _places(episodes, found.supporting) == [0, 1, 2, 3, 4]


def test_a_figure_above_which_it_goes_wrong() -> None:
    episodes = _episodes(
        ["uploader"],
        ("success", "uploader took a file of 20 MB."),
        ("failure", "uploader stopped at a file of 180 MB."),
        ("success", "A file of 35 MB through the uploader."),
        ("failure", "240 MB file, uploader gave up."),
        ("success", "uploader, 12 MB file, fine."),
        ("failure", "uploader, file with 150 MB: lost connection."),
    )
    found = _only(find_patterns(episodes))
    assert found.form == "threshold"
    assert "150" in str(found.statement) or "1.5e+08" in found.statement


def test_a_reversal_tells_the_present_state() -> None:
    episodes = _episodes(
        ["billing run"],
        ("failure", "billing run stuck in the queue."),
        ("failure", "billing run stuck, queue full."),
        ("failure", "Queue full, billing run stuck."),
        ("success", "billing run through in an hour."),
        ("success", "billing run through again."),
    )
    found = _only(find_patterns(episodes))
    assert found.form == "reversal"
    assert _places(episodes, found.supporting) == [3, 4]
    assert _places(episodes, found.contradicting) == [0, 1, 2]
    assert found.since == episodes[3].occurred_at


def test_only_the_last_m_count() -> None:
    old = [
        ("failure", "Parser crashed on the header."),
        ("failure", "Header crash."),
        ("failure", "Header crash in the parser."),
    ]
    new = [("success", f"Parser read file number {i}.") for i in range(10)]
    assert find_patterns(_episodes(["parser"], *old, *new)) == []


def test_vectors_choose_the_central_episode() -> None:
    episodes = _episodes(
        ["Vega"],
        ("failure", "rows lost by encoding"),
        ("failure", "encoding lost rows"),
        ("failure", "encoding, rows lost"),
    )
    vectors = np.eye(3, 4, dtype=np.float32)
    vectors[1] = (0.7, 0.5, 0.5, 0.0)
    assert _only(find_patterns(episodes, vectors)).central == episodes[1].id
