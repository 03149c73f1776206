"""Encoding and decoding: what is valid comes back as it was, what is not is refused by the name of its field."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from afterwit.schemas import (
    OPERATIONS,
    Feedback,
    Forget,
    Invalid,
    LogEntry,
    Notice,
    OperationResult,
    PoolGrant,
    Retrieve,
    Store,
    TooLarge,
    Update,
)
from afterwit.schemas.codec import JSON, MSGPACK, convert, decode, encode, to_plain
from tests.samples import new_id

from .strategies import structs

WIRE = sorted(
    {s for op in OPERATIONS.values() for s in (op.request, op.reply)} | {LogEntry, Notice}, key=lambda s: s.__name__
)
RELAXED = settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@pytest.mark.parametrize("kind", WIRE, ids=lambda kind: kind.__name__)
def test_every_struct_comes_back_from_both_formats(kind: type[msgspec.Struct]) -> None:
    @RELAXED
    @given(value=structs(kind))
    def round_trip(value: msgspec.Struct) -> None:
        for content_type in (JSON, MSGPACK):
            data = encode(value, content_type)
            assert decode(data, kind, content_type) == value
        if kind is not LogEntry:  # its bytes are for the log alone, never plain values
            assert convert(to_plain(value), kind) == value

    round_trip()


@RELAXED
@given(data=st.binary(max_size=200))
@pytest.mark.parametrize("content_type", [JSON, MSGPACK])
def test_any_bytes_give_a_request_or_an_error_of_ours(data: bytes, content_type: str) -> None:
    for operation in OPERATIONS.values():
        with contextlib.suppress(Invalid):
            decode(data, operation.request, content_type)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**6) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@RELAXED
@given(values=st.dictionaries(st.sampled_from(Store.__struct_fields__) | st.text(max_size=8), PLAIN, max_size=6))
def test_any_values_give_a_store_or_an_error_of_ours(values: dict[str, Any]) -> None:
    with contextlib.suppress(Invalid, TooLarge):
        convert(values, Store)


BAD_STORES: list[tuple[dict[str, Any], str, str]] = [
    ({"content": "x", "colour": "red"}, "colour", "unknown field"),
    ({}, "content", "required"),
    ({"content": 7}, "content", "expected `str`"),
    ({"content": ""}, "content", "white space"),
    ({"content": " \n\t　"}, "content", "white space"),
    ({"content": "a\0b"}, "content", "NUL"),
    ({"content": "x", "pool": "shared/a.b"}, "pool", "agent/<name>"),
    ({"content": "x", "pool": "shared/*"}, "pool", "agent/<name>"),
    ({"content": "x", "pool": "shared/>"}, "pool", "agent/<name>"),
    ({"content": "x", "pool": "shared/a b"}, "pool", "agent/<name>"),
    ({"content": "x", "pool": "shared/ops\n"}, "pool", "agent/<name>"),
    ({"content": "x", "pool": "shared/" + "a" * 64}, "pool", "agent/<name>"),
    ({"content": "x", "pool": "shared/оps"}, "pool", "agent/<name>"),  # the first letter is Cyrillic
    ({"content": "x", "pool": "team/ops"}, "pool", "agent/<name>"),
    ({"content": "x", "tier": "eternal"}, "tier", "eternal"),
    ({"content": "x", "importance": 1.01}, "importance", "<= 1.0"),
    ({"content": "x", "occurred_at": "2026-11-30T12:00:00"}, "occurred_at", "with its offset"),
    ({"content": "x", "occurred_at": "yesterday"}, "occurred_at", "2026-11-30T01:00:00Z"),
    ({"content": "x", "caused_by": ["nope"]}, "caused_by[0]", "UUID"),
    ({"content": "x", "fact": {"subject": "a", "predicate": "b"}}, "fact.object", "required"),
    ({"content": "x", "fact": {"subject": "a", "predicate": "b", "object": "c", "d": 1}}, "fact.d", "unknown field"),
    ({"content": "x", "session_id": "a b"}, "session_id", "letters"),
    ({"content": "x", "tags": ["ok", 3]}, "tags[1]", "expected `str`"),
]


@pytest.mark.parametrize(("values", "field", "text"), BAD_STORES, ids=lambda v: v if isinstance(v, str) else None)
def test_a_bad_store_is_refused_by_the_name_of_its_field(values: dict[str, Any], field: str, text: str) -> None:
    for attempt in (
        lambda: convert(values, Store),
        lambda: decode(msgspec.json.encode(values), Store, JSON),
        lambda: decode(msgspec.msgpack.encode(values), Store, MSGPACK),
    ):
        with pytest.raises(Invalid) as caught:
            attempt()  # type: ignore[no-untyped-call]  # lambdas in a tuple lose their types
        assert caught.value.detail["field"] == field
        assert text in caught.value.message
        assert field in caught.value.message


def test_the_limits_are_bytes_and_inclusive() -> None:
    convert({"content": "x" * 65_536}, Store)
    convert({"content": "满" * 21_845}, Store)
    convert({"content": "x", "data": "x" * (262_144 - 2)}, Store)
    for values, field in (
        ({"content": "x" * 65_537}, "content"),
        ({"content": "满" * 21_846}, "content"),
        ({"content": "x", "data": "x" * (262_144 - 1)}, "data"),
    ):
        with pytest.raises(TooLarge) as caught:
            convert(values, Store)
        assert caught.value.detail["field"] == field


def test_lone_surrogates_are_refused_wherever_they_come_in() -> None:
    with pytest.raises(Invalid) as caught:
        decode(b'{"content": "a\\ud800"}', Store)
    assert caught.value.detail["field"] == "content"
    with pytest.raises(Invalid):
        encode(Store(content="a\ud800"))
    with pytest.raises(Invalid) as caught:
        Store(content="a", data={"k": ["\udfff"]})
    assert caught.value.detail["field"] == "data"


@pytest.mark.parametrize(
    "data",
    [2**64, b"bytes", {1: 2}, float("nan"), {"k": float("inf")}, object()],
    ids=["big", "bytes", "key", "nan", "inf", "object"],
)
def test_data_is_json_and_nothing_else(data: Any) -> None:
    with pytest.raises(Invalid) as caught:
        Store(content="x", data={"inner": [data]})
    assert caught.value.detail["field"] == "data"


def test_nesting_has_a_limit() -> None:
    def nested(depth: int) -> Any:
        value: Any = 1
        for _ in range(depth):
            value = [value]
        return value

    assert decode(encode(Store(content="x", data=nested(100))), Store).data == nested(100)
    for depth in (101, 900):
        with pytest.raises(Invalid, match="deep") as caught:
            Store(content="x", data=nested(depth))
        assert caught.value.detail["field"] == "data"
    for opening, content_type in ((b"[", JSON), (b"\x91", MSGPACK)):
        with pytest.raises(Invalid):
            decode(opening * 100_000, Store, content_type)
    with pytest.raises(Invalid, match="deep"):
        decode(b'{"content": "x", "data": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", Store)
    with pytest.raises(Invalid):
        convert({"content": "x", "data": nested(10_000)}, Store)
    with pytest.raises(Invalid, match="content"):
        decode(b'{"content": 7, "data": ' + b"[" * 900 + b"]" * 900 + b"}", Store)
    with pytest.raises(Invalid, match="surrogate"):
        decode(b'{"content": "x", "data": ' + b"[" * 900 + b'"\\ud800"' + b"]" * 900 + b"}", Store)


def test_a_type_that_does_not_fit_and_a_payload_that_is_broken_later() -> None:
    with pytest.raises(Invalid, match="not JSON"):
        decode(b'[1, {"', Store)


def test_an_optional_field_may_be_null_and_data_keeps_its_nulls() -> None:
    store = decode(b'{"content": "x", "tags": null, "pool": null, "data": {"a": null}, "ack": null}', Store)
    assert store == Store(content="x", data={"a": None})
    update = convert({"id": new_id(), "expected_version": 1, "data": None, "content": None}, Update)
    assert update.changes == {"data": None}
    with pytest.raises(Invalid, match="top_k"):
        convert({"query": "x", "top_k": 51}, Retrieve)


CITED = {"evidence": [new_id()], "because": "x"}
REVERSED = {"start": "2026-05-02T00:00:00Z", "end": "2026-05-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("kind", "values", "field", "remedy"),
    [
        (Store, {"content": "x", "kind": "memo"}, "kind", "preference"),
        (Update, {"id": new_id(), "expected_version": 1, "status": "purged"}, "status", "active, archived"),
        (Retrieve, {"query": "x", "tier": "long"}, "tier", "episodic, semantic, working"),
        (Forget, {"where": {}, "reason": "x"}, "where", "give a filter, such as pools"),
        (
            Forget,
            {"where": {"include_archived": True, "time_range": {}}, "reason": "x", "purge": True},
            "where",
            "pools",
        ),
        (
            Feedback,
            {"retrieval_id": "r", "used": [{"id": new_id(), "effect": "good"}]},
            "used[0].effect",
            "helped, ignored, misled",
        ),
        (
            OperationResult,
            {"operation": {**CITED, "op": "link", "source": new_id(), "target": new_id(), "rel": "causes"}},
            "operation.rel",
            "caused_by, contradicts",
        ),
        (
            OperationResult,
            {"operation": {**CITED, "op": "update", "id": new_id(), "status": "archived"}},
            "operation.status",
            "active, candidate, superseded",
        ),
        (Store, {"content": "x", "expires_at": "9999-12-31T23:59:59-14:00"}, "expires_at", "9999-12-31 in UTC"),
        (Update, {"id": new_id(), "expected_version": 1, "valid_to": "0001-01-01T00:00:00+14:00"}, "valid_to", "UTC"),
        (Retrieve, {"query": "x", "now": "0001-01-01T00:00:00+14:00"}, "now", "0001-01-02"),
        (
            Retrieve,
            {"query": "x", "time_range": {"end": "0001-01-01T00:00:00+14:00"}},
            "time_range.end",
            "0001-01-02",
        ),
        (Retrieve, {"query": "上个月", "time_range": REVERSED}, "time_range", "the earlier time as start"),
        (Forget, {"where": {"time_range": REVERSED}, "reason": "x"}, "time_range", "the earlier time as start"),
        (
            PoolGrant,
            {"pool": "shared/a", "agent": "bob", "role": "reader", "until": "9999-12-31T23:59:59-14:00"},
            "until",
            "9999-12-31 in UTC",
        ),
    ],
)
def test_what_does_not_fit_is_told_with_its_remedy(
    kind: type[msgspec.Struct], values: dict[str, Any], field: str, remedy: str
) -> None:
    with pytest.raises(Invalid, match=re.escape(field)) as refused:
        decode(msgspec.json.encode(values), kind)
    assert remedy in refused.value.message
    assert refused.value.detail["field"] == field


def test_a_number_that_json_does_not_have_is_no_surrogate() -> None:
    for text in (b'{"content": "x", "confidence": NaN}', b'{"content": "x", "data": 1e999}'):
        with pytest.raises(Invalid, match="the payload is not JSON"):
            decode(text, Store)
