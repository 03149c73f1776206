"""Looking back by a language model: a scripted service that is good, bad, cut off, hostile, slow and failing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from afterwit.bus.jobs import Job
from afterwit.memory_node.ids import new_id
from afterwit.memory_node.inference.chat import Chat
from afterwit.memory_node.reflection.model import ModelReflector, prompt, told
from afterwit.memory_node.reflection.reflector import BadOutput, Material
from afterwit.schemas import Memory, StoreOperation, Unavailable
from afterwit.schemas.reflection import ReflectOperation
from tests.engines.chat_service import ChatService, Said, chat_service
from tests.samples import NOON, memory

EVENT = memory("Please never book a window seat for me.", kind="user_input", session_id="s", turn=1, seq=1)


def material(*events: Memory) -> Material:
    job = Job(id=new_id(), agent="alice", trigger="asked", at=NOON, session_id="s")
    return Material(job=job, pool="agent/alice", now=NOON, events=events or (EVENT,))


def operations(*each: dict[str, Any]) -> str:
    return json.dumps({"operations": each})


GOOD = {"op": "store", "content": "Alice's user wants no window seat.", "kind": "preference", "evidence": [EVENT.id],
        "because": "the user said so"}  # fmt: skip


async def reflect(*script: Said, within_s: float = 60.0) -> tuple[list[ReflectOperation], ChatService]:
    with chat_service(script) as service:
        async with Chat.at(service.url, "reflector", within_s=within_s) as chat:
            return await ModelReflector(chat).reflect(material()), service


async def test_a_good_answer_is_taken_and_the_schema_was_given() -> None:
    found, service = await reflect(Said(operations(GOOD)))

    assert [type(each) for each in found] == [StoreOperation]
    (request,) = service.requests
    assert request["response_format"]["json_schema"]["schema"]["properties"].keys() == {"operations"}
    assert request["messages"][0] == {"role": "system", "content": prompt("en")}
    assert EVENT.id in request["messages"][1]["content"]


@pytest.mark.parametrize(
    "bad",
    [
        Said("I would suggest to store the preference."),
        Said('{"operations": [{"op": "store"'),
        Said(operations(GOOD)[:60], finish_reason="length"),
        Said(operations({**GOOD, "pool": "agent/bob"})),
        Said(operations({**GOOD, "evidence": []})),
        Said(operations({**GOOD, "op": "purge"})),
        Said(operations({**GOOD, "content": "\ud800"})),
        Said(operations(*[GOOD] * 65)),
    ],
    ids=["prose", "half", "cut", "another pool", "no evidence", "no such operation", "surrogate", "too many"],
)
async def test_a_bad_answer_is_asked_for_once_more(bad: Said) -> None:
    found, service = await reflect(bad, Said(operations(GOOD)))

    assert len(found) == 1
    assert [message["role"] for message in service.requests[1]["messages"]] == ["system", "user", "assistant", "user"]


async def test_two_bad_answers_are_given_up() -> None:
    with pytest.raises(BadOutput):
        await reflect(Said("no"))


@pytest.mark.parametrize("trouble", [Said(status=500), Said(status=429), Said(delay_s=0.6)], ids=["500", "429", "slow"])
async def test_a_service_in_trouble_is_tried_again_later(trouble: Said) -> None:
    with pytest.raises(Unavailable):
        await reflect(trouble, within_s=0.2)


async def test_a_service_that_is_not_there_is_tried_again_later() -> None:
    async with Chat.at("http://127.0.0.1:9", "reflector") as chat:
        with pytest.raises(Unavailable):
            await ModelReflector(chat).reflect(material())


def test_the_material_is_bounded_and_keeps_what_is_important() -> None:
    events = [memory(f"step {n}: " + "word " * 200, seq=n, kind="tool_result", importance=0.3) for n in range(200)]
    first = memory("Ilse has a peanut allergy.", seq=500, kind="user_input", importance=0.95)

    text = told(material(first, *events), budget=4000)

    assert "peanut" in text
    assert "step 199" in text
    assert "step 0:" not in text
    assert len(text) < 40_000


def test_a_chinese_session_is_asked_about_in_chinese() -> None:
    assert "回顾" in prompt("zh")
    assert "look back" in prompt("en")
