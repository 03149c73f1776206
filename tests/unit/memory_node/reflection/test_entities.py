from __future__ import annotations

import time

import pytest

from afterwit.memory_node.reflection.entities import entities, salient_entities
from afterwit.memory_node.reflection.sentences import call


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ask Priya Nair about quay-gateway and BH-104882.", {"Priya Nair", "quay-gateway", "BH-104882"}),
        (
            "The host is db.example.net, see etc/nginx.conf on 10.0.0.7.",
            {"db.example.net", "etc/nginx.conf", "10.0.0.7"},
        ),
        ("Dr. Amsel works at the Fenwick library.", {"Amsel", "Fenwick library"}),
        ("请联系温知夏，她在杭州。", {"温知夏", "杭州"}),
        ("订单 BH-2 由韩砚负责，住在云栖小院。", {"BH-2", "韩砚", "云栖小院"}),
        ("訂單 BH-2 由韓硯負責，住在雲棲小院。", {"BH-2", "韓硯", "雲棲小院"}),
        ("請聯繫溫知夏，她在瀋陽。", {"溫知夏", "瀋陽"}),
        ("httpkit 0.28 breaks the tests.", {"httpkit"}),
    ],
)
def test_names_are_found(text: str, expected: set[str]) -> None:
    assert expected <= set(entities(text))


@pytest.mark.parametrize(
    "text", ["The room is quiet.", "Please wait until Monday.", "顾客很高兴，谢谢。", "No, that is fine."]
)
def test_plain_words_are_no_names(text: str) -> None:
    assert entities(text) == []


def test_known_names_are_found_whatever_they_look_like() -> None:
    assert entities("move the blue whale to 存储池", known=["blue whale", "存储池"]) == ["blue whale", "存储池"]
    assert entities("move the blue whales", known=["blue whale"]) == []


def test_a_session_is_about_what_the_user_names_and_the_work_comes_back_to() -> None:
    events = [
        ("user_input", "I'm Ada Bright. Find a table in Porto for Friday."),
        ("tool_result", "Luna Verde; Casa Azul; Rio Alto"),
        ("agent_thought", "Luna Verde is too expensive."),
        ("final_answer", "Casa Azul has a table. Ada, shall I book Casa Azul?"),
        ("tool_result", "booked, reference CA-77"),
    ]
    found = salient_entities(events)
    assert {"Ada Bright", "Porto", "Casa Azul"} <= set(found)
    assert not {"Rio Alto", "Luna Verde", "CA-77"} & set(found)


def test_a_name_is_found_behind_a_longer_one_that_begins_with_it() -> None:
    assert entities("annabel saw anna.", known=["anna"]) == ["anna"]
    assert entities("annabel was seen.", known=["anna"]) == []


def test_a_name_is_found_behind_letters_that_grow_when_they_are_folded() -> None:
    assert salient_entities([("user_input", "ẞßßßßß, ask quay-gateway now")]) == ["quay-gateway"]


@pytest.mark.parametrize("arguments", ["a" * 1_000_000, "a=[" * 20_000, "a=[," * 20_000])
def test_no_call_of_a_tool_takes_long_however_odd(arguments: str) -> None:
    began = time.perf_counter()
    salient_entities([("tool_call", f"upload({arguments})")])
    call(f"upload({arguments})")
    assert time.perf_counter() - began < 20
