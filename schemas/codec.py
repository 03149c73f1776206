"""JSON and MessagePack, and the translation of decoding errors into errors that name the field."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

from .errors import AfterwitError, Invalid
from .words import MEANING_OF_PATTERN

T = TypeVar("T")

JSON: Final = "application/json"
MSGPACK: Final = "application/msgpack"

_ENCODERS: Final[dict[str, msgspec.json.Encoder | msgspec.msgpack.Encoder]] = {
    JSON: msgspec.json.Encoder(),
    MSGPACK: msgspec.msgpack.Encoder(),
}
_UNKNOWN: Final = re.compile(r"^Object contains unknown field `(?P<name>.*?)`")
_MISSING: Final = re.compile(r"^Object missing required field `(?P<name>.*?)`")
_AT: Final = re.compile(r" - at `(?:key in )?\$\.?(?P<path>[^`]*)`$")
_ENUM: Final = re.compile(r"^Invalid enum value (?P<value>.*)")
_TIME: Final = re.compile(r"^(?:Invalid RFC3339 encoded datetime|Expected `datetime`)")
_REGEX: Final = re.compile(r"^Expected `str` matching regex '(?P<pattern>.*)'")


def encode(value: Any, content_type: str = JSON) -> bytes:
    """``value`` (a Struct or plain values) as bytes of ``content_type``.

    Raises:
        Invalid: the value holds something that the format has no way to say (a lone surrogate).
    """
    try:
        return _ENCODERS[content_type].encode(value)
    except UnicodeEncodeError as e:
        raise _surrogate_error(_path_of_surrogate(to_plain(value), "") or "") from e


def decode(data: bytes, type: type[T], content_type: str = JSON) -> T:
    """``data`` as a ``type``.

    An optional field may be null as well as left out: many clients write all fields that they know.

    Raises:
        Invalid: ``detail["field"]`` says where.
    """
    try:
        value: T = _decoder(type, content_type).decode(data)  # type: ignore[arg-type]  # every type has a hash
        return value
    except msgspec.ValidationError as e:
        return _convert_without_nulls(_plain(data, content_type), type, e)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise _unreadable(data, content_type, e) from e


def convert(value: Any, type: type[T]) -> T:
    """Plain values (as a JSON library or MCP gives them) as a ``type``; like `decode`.

    Raises:
        Invalid: ``detail["field"]`` says where.
    """
    try:
        return msgspec.convert(value, type)
    except msgspec.ValidationError as e:
        return _convert_without_nulls(value, type, e)
    except RecursionError as e:
        raise Invalid("the request is nested too deeply", field="") from e


def to_plain(value: Any) -> Any:
    """``value`` as dicts, lists, strings and numbers: what a JSON library takes."""
    return msgspec.to_builtins(value)


def _plain(data: bytes, content_type: str) -> Any:
    """The payload without a type. One is found not to fit before all is read: what follows may still be broken."""
    try:
        return _decoder(Any, content_type).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise _unreadable(data, content_type, e) from e


def _unreadable(data: bytes, content_type: str, error: Exception) -> Invalid:
    if isinstance(error, RecursionError):
        return Invalid("the payload is nested too deeply", field="")
    if content_type == JSON and (path := _surrogate_in(data)) is not None:
        return _surrogate_error(path)
    return Invalid(f"the payload is not {_name(content_type)}: {error}", field="")


def _convert_without_nulls(value: Any, type: type[T], first: msgspec.ValidationError) -> T:
    try:
        return msgspec.convert(_without_nulls(value), type)
    except (msgspec.ValidationError, RecursionError):
        raise _explained(first, type) from first


def _without_nulls(value: Any) -> Any:
    """``value`` without the fields that are null, except in ``data``, where null is the caller's own."""
    if isinstance(value, dict):
        return {k: v if k == "data" else _without_nulls(v) for k, v in value.items() if v is not None or k == "data"}
    if isinstance(value, list):
        return [_without_nulls(v) for v in value]
    return value


def _surrogate_in(data: bytes) -> str | None:
    """Where a lone surrogate is, if that is what ails ``data``: the standard library reads them, unlike msgspec."""
    try:
        return _path_of_surrogate(json.loads(data), "")
    except (ValueError, RecursionError):
        return None


def _surrogate_error(path: str) -> Invalid:
    return Invalid(f"{path or 'a text'}: holds a lone surrogate, which UTF-8 cannot say; remove it", field=path)


def _path_of_surrogate(value: Any, path: str) -> str | None:
    if isinstance(value, str):
        return path if any("\ud800" <= c <= "\udfff" for c in value) else None
    if isinstance(value, dict):
        found = (_path_of_surrogate(v, _join(path, k)) for k, v in value.items())
    elif isinstance(value, list | tuple):
        found = (_path_of_surrogate(v, f"{path}[{i}]") for i, v in enumerate(value))
    else:
        return None
    return next((p for p in found if p is not None), None)


def _explained(error: msgspec.ValidationError, type: Any) -> AfterwitError:
    text = str(error)
    at = _AT.search(text)
    path = at["path"] if at else ""
    what = _AT.sub("", text)
    if unknown := _UNKNOWN.match(what):
        path = _join(path, unknown["name"])
        return Invalid(f"unknown field {path!r}: remove it or check its spelling", field=path)
    if missing := _MISSING.match(what):
        path = _join(path, missing["name"])
        return Invalid(f"the field {path!r} is required", field=path)
    if regex := _REGEX.match(what):
        pattern = regex["pattern"].replace("\\\\", "\\").replace("\\'", "'")
        what = MEANING_OF_PATTERN.get(pattern, what)
    elif enum := _ENUM.match(what):
        what = f"there is no {enum['value']}; there are {', '.join(map(str, _choices(type, path)))}"
    elif _TIME.match(what):
        what = "must be a time with its offset, such as 2026-11-30T09:00:00+08:00 or 2026-11-30T01:00:00Z"
    else:
        what = what[:1].lower() + what[1:]
    return Invalid(f"{path or 'the request'}: {what}", field=path)


def _choices(type: Any, path: str) -> tuple[object, ...]:
    """The values that the field at ``path`` may have; of a union of Structs, in those that have such a field."""
    found = list(_bare(inspect.type_info(type)))
    for name in re.findall(r"[^.\[\]]+", path):
        found = [inner for each in found for inner in _within(each, name)]
    return tuple(value for each in found if isinstance(each, inspect.LiteralType) for value in each.values)


def _within(type: inspect.Type, name: str) -> Iterator[inspect.Type]:
    """What stands in a ``type`` under ``name``, or at that place."""
    match type:
        case inspect.StructType():
            for field in type.fields:
                if field.encode_name == name:
                    yield from _bare(field.type)
        case inspect.VarTupleType():
            yield from _bare(type.item_type)


def _bare(type: inspect.Type) -> Iterator[inspect.Type]:
    """What ``type`` may be, without descriptions and null."""
    match type:
        case inspect.Metadata():
            yield from _bare(type.type)
        case inspect.UnionType():
            for each in type.types:
                yield from _bare(each)
        case inspect.NoneType():
            pass
        case _:
            yield type


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _name(content_type: str) -> str:
    return "MessagePack" if content_type == MSGPACK else "JSON"


@functools.cache
def _decoder(type: Any, content_type: str) -> Any:
    if content_type == MSGPACK:
        return msgspec.msgpack.Decoder(type)
    return msgspec.json.Decoder(type)
