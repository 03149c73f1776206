"""Errors: the same on every way in and out."""

from __future__ import annotations

import pytest

from afterwit.schemas import AfterwitError, ErrorReply
from afterwit.schemas.codec import JSON, MSGPACK, decode, encode

KINDS = AfterwitError.__subclasses__()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
def test_an_error_survives_the_wire(kind: type[AfterwitError]) -> None:
    error = kind("what was wrong and what to do", field="content", nested={"a": [1]})
    for content_type in (JSON, MSGPACK):
        data = encode(ErrorReply(error=error.body), content_type)
        back = AfterwitError.from_body(decode(data, ErrorReply, content_type).error)
        assert type(back) is kind
        assert (back.message, back.detail) == (error.message, error.detail)
        assert str(back) == error.message


def test_the_codes_are_the_contracts() -> None:
    assert {kind.code for kind in KINDS} == {
        "invalid", "unauthenticated", "forbidden", "not_found", "stale", "rejected",
        "too_large", "quota", "unavailable", "timeout", "internal",
    }  # fmt: skip
