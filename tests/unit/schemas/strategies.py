"""Hypothesis strategies for Structs, made from their types and constraints."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect as types

from afterwit.schemas import AfterwitError, Forget, Get, Update, words

_MOST_ITEMS = 3

_NAME = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,62}", fullmatch=True)
_UUID = st.uuids().map(str)
_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60).filter(
    lambda text: bool(text.strip())
)
_BY_PATTERN: dict[str, st.SearchStrategy[str]] = {
    words._AGENT: _NAME,
    words._POOL: st.builds("{}/{}".format, st.sampled_from(["agent", "shared"]), _NAME),
    words._ID: _UUID,
    words._SESSION: st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", fullmatch=True),
    words._URI: st.builds("memory://{}/{}/{}".format, st.sampled_from(["agent", "shared"]), _NAME, _UUID),
    words._TEXT: _TEXT,
}
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
_TIMES = st.datetimes(
    min_value=datetime(1000, 1, 2),  # noqa: DTZ001  # hypothesis adds the zone
    max_value=datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m))) | st.just(UTC),
)


def by_pattern(word: Any) -> st.SearchStrategy[str]:
    """Values of one of the identifiers in `afterwit.schemas.words`."""
    return _BY_PATTERN[word.__metadata__[0].pattern]


def structs(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Valid instances of ``kind``."""
    info = types.type_info(kind)
    assert isinstance(info, types.StructType)
    fields = {field.name: _values(field.type) for field in info.fields}
    if kind is Get:
        return st.fixed_dictionaries({"uri": fields["uri"]}).map(lambda f: _built(Get, f)).filter(bool) | (
            st.fixed_dictionaries({"id": _UUID}, optional={"version": fields["version"]}).map(lambda f: _built(Get, f))
        )
    if kind is Update:
        identity = {"id": _UUID, "expected_version": fields["expected_version"]}
        changes = {k: v for k, v in fields.items() if k not in {*identity, "restore_version"}}
        one_at_least = st.fixed_dictionaries(identity, optional=changes)
        back = st.fixed_dictionaries(identity | {"restore_version": st.integers(1, 9)})
        return (one_at_least | back).map(lambda f: _built(Update, f)).filter(bool)
    if kind is Forget:
        rest = {k: v for k, v in fields.items() if k not in {"ids", "where"}}
        by_id = st.fixed_dictionaries(rest | {"ids": st.lists(_UUID, min_size=1, max_size=3).map(tuple)})
        by_filter = st.fixed_dictionaries(rest | {"where": fields["where"].filter(bool)})
        return (by_id | by_filter).map(lambda f: _built(Forget, f)).filter(bool)
    return st.fixed_dictionaries(fields).map(lambda f: _built(kind, f)).filter(bool)


def _built(kind: type[msgspec.Struct], fields: dict[str, Any]) -> msgspec.Struct | None:
    """None where fields that fit each alone do not fit together."""
    try:
        return kind(**fields)
    except AfterwitError:
        return None


def _values(info: types.Type) -> st.SearchStrategy[Any]:
    """Values of a type as msgspec describes it."""
    make = _MAKERS.get(type(info))
    if make is None:
        raise TypeError(f"no strategy for {info}")
    return make(info)


def _ints(info: Any) -> st.SearchStrategy[int]:
    return st.integers(-(2**63) if info.ge is None else info.ge, 2**63 - 1 if info.le is None else info.le)


def _floats(info: Any) -> st.SearchStrategy[float]:
    return st.floats(min_value=info.ge, max_value=info.le, allow_nan=False, allow_infinity=False)


def _texts(info: Any) -> st.SearchStrategy[str]:
    if info.pattern is not None:
        found = _BY_PATTERN[info.pattern]
    else:
        found = st.text(st.characters(exclude_categories=["Cs"]), min_size=info.min_length or 0, max_size=40)
    return found.filter(lambda text: info.max_length is None or len(text) <= info.max_length)


def _tuples(info: Any) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(_values(info.item_type), min_size=info.min_length or 0, max_size=_MOST_ITEMS).map(tuple)


_MAKERS: dict[type, Callable[[Any], st.SearchStrategy[Any]]] = {
    types.NoneType: lambda _: st.none(),
    types.BoolType: lambda _: st.booleans(),
    types.IntType: _ints,
    types.FloatType: _floats,
    types.StrType: _texts,
    types.BytesType: lambda _: st.binary(max_size=64),
    types.DateTimeType: lambda _: _TIMES,
    types.AnyType: lambda _: _JSON,
    types.LiteralType: lambda info: st.sampled_from(info.values),
    types.VarTupleType: _tuples,
    types.TupleType: lambda info: st.tuples(*map(_values, info.item_types)),
    types.DictType: lambda info: st.dictionaries(
        _values(info.key_type), _values(info.value_type), max_size=_MOST_ITEMS
    ),
    types.UnionType: lambda info: st.one_of(*(_values(t) for t in info.types)),
    types.StructType: lambda info: structs(info.cls),
    types.Metadata: lambda info: _values(info.type),
}
