"""The probe is itself tested: over a door that leaks, it must say so."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from afterwit.schemas import OPERATIONS

from .cases import Own
from .markers import Markers
from .probe import Probe
from .world import Things

SOMEBODYS = Things(
    agent="zqvictor00000000", private_id="0190f5fe-0000-7000-8000-0000000000aa", pool="shared/zqteam0000000000",
    shared_id="0190f5fe-0000-7000-8000-0000000000bb", session="zqsession0000000",
    retrieval="0190f5fe-0000-7000-8000-0000000000cc", key="zqkey00000000000", tag="zqtag00000000000",
    entity="zqentity00000000", task_type="zqtask0000000000", label="zqlabel000000000", word="zqword0000000000",
)  # fmt: skip
OWN = Own("mallory", "shared/own", "0190f5fe-0000-7000-8000-000000000001", "0190f5fe-0000-7000-8000-000000000002")
CONTENT = "zqthecontentitself"


class Tight:
    """A bus on which nothing is there for the one who asks. Its errors repeat what was asked for, as ours do."""

    name = "double"

    async def ask(self, op: str, request: dict[str, Any]) -> bytes:
        return json.dumps(
            {"error": {"code": "not_found", "message": f"no {request} of {op} that you may read"}}
        ).encode()


class Leaky(Tight):
    """The same, with a hole."""

    def __init__(self, hole: str) -> None:
        self.hole = hole

    async def ask(self, op: str, request: dict[str, Any]) -> bytes:
        answer = await super().ask(op, request)
        its = SOMEBODYS
        exists = any(name in repr(request) for name in (its.private_id, its.shared_id, its.pool, its.session))
        if not exists:
            return answer
        match self.hole:
            case "a name in an error" if op == "history":
                return answer.replace(b"no ", b"that belongs to zqsomebodyelse, not to you: ")
            case "a count" if op == "health":
                return answer + b' {"active": 3}'
            case "another code" if op == "update":
                return answer.replace(b"not_found", b"forbidden")
            case "content in base64" if op == "get":
                return answer + base64.b64encode(b"..." + CONTENT.encode())
            case "a word more" if op == "pool_revoke":
                return answer.replace(b"you may", b"you may not")
            case _:
                return answer


def probe() -> Probe:
    markers = Markers()
    markers.add(CONTENT, "content")
    markers.add("zqsomebodyelse", "agent name")
    for name in (SOMEBODYS.agent, SOMEBODYS.pool, SOMEBODYS.session):
        markers.add(name, "name")
    return Probe(markers, OWN, SOMEBODYS)


async def test_a_tight_bus_passes() -> None:
    passed = probe()
    for op in OPERATIONS:
        await passed.ask(Tight(), op)
    assert passed.found == []
    assert passed.asked > 200


@pytest.mark.parametrize(
    ("hole", "what"),
    [
        ("a name in an error", "agent name"),
        ("a count", "that it is there"),
        ("another code", "that it is there"),
        ("content in base64", "content"),
        ("a word more", "that it is there"),
    ],
)
async def test_a_planted_leak_is_found(hole: str, what: str) -> None:
    failed = probe()
    for op in OPERATIONS:
        await failed.ask(Leaky(hole), op)
    assert what in {leak.what for leak in failed.found}


def test_a_planted_notice_is_found() -> None:
    heard = probe()
    notice = {"uri": f"memory://{SOMEBODYS.pool}/{SOMEBODYS.shared_id}", "change": "created"}
    heard.judge_all([("http, 2026-07-28", json.dumps(notice).encode())])
    assert [leak.what for leak in heard.found] == ["name"]


def test_what_comes_in_pieces_is_found() -> None:
    heard = probe()
    heard.judge_all([("http", CONTENT[:7].encode()), ("nats", b"x"), ("http", CONTENT[7:].encode())])
    assert [leak.where for leak in heard.found] == ["http"]
