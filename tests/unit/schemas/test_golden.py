"""The wire cannot change by accident: every Struct's bytes are written down."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from afterwit import schemas
from afterwit.schemas import OPERATIONS, json_schema
from afterwit.schemas.codec import JSON, MSGPACK, convert, decode

from .golden import SAMPLES, rendered, struct

GOLDEN = Path(__file__).with_name("golden.txt").read_text(encoding="utf-8")
SECTIONS = {section.splitlines()[0].removeprefix("# "): section.splitlines() for section in GOLDEN.split("\n\n")}
NAMES = sorted(
    name for name in schemas.__all__ if isinstance(v := getattr(schemas, name), type) and issubclass(v, msgspec.Struct)
)


def test_every_struct_has_a_sample_and_a_section() -> None:
    assert NAMES == sorted(SAMPLES) == sorted(SECTIONS)


@pytest.mark.parametrize("name", NAMES)
def test_the_bytes_are_as_written_down(name: str) -> None:
    assert rendered(name).splitlines() == SECTIONS[name]


@pytest.mark.parametrize("name", NAMES)
def test_the_bytes_written_down_are_still_understood(name: str) -> None:
    _, as_json, as_msgpack = SECTIONS[name]
    value = convert(SAMPLES[name], struct(name))
    assert decode(as_json.encode(), struct(name), JSON) == value
    assert decode(bytes.fromhex(as_msgpack), struct(name), MSGPACK) == value


@pytest.mark.parametrize("name", NAMES)
def test_the_sample_fits_its_json_schema(name: str) -> None:
    schema = json_schema(struct(name))
    assert schema["type"] == "object"
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(SAMPLES[name], schema, jsonschema.Draft202012Validator)
    jsonschema.validate(json.loads(SECTIONS[name][1]), schema, jsonschema.Draft202012Validator)


def test_every_operation_has_a_request_that_refuses_unknown_fields_and_a_description() -> None:
    for operation in OPERATIONS.values():
        assert json_schema(operation.request)["additionalProperties"] is False
        assert operation.description
