"""Reading what clients, whoever wrote them, put into the headers of messages."""

from __future__ import annotations

from collections.abc import Mapping

from ..schemas import Invalid
from ..schemas.codec import JSON, MSGPACK
from . import names


def header(headers: Mapping[str, str] | None, name: str) -> str | None:
    """A header's value; clients differ in how they write names."""
    if not headers:
        return None
    found = headers.get(name)
    if found is None:
        found = next((value for key, value in headers.items() if key.lower() == name.lower()), None)
    return found


def content_type_of(headers: Mapping[str, str] | None) -> str:
    """The format of the payload; JSON if nothing is said.

    Raises:
        Invalid: it is none of ours.
    """
    given = header(headers, names.CONTENT_TYPE)
    if given is None:
        return JSON
    plain = given.partition(";")[0].strip().lower()
    if plain not in {JSON, MSGPACK}:
        raise Invalid(f"{names.CONTENT_TYPE} is {given!r} and must be {JSON} or {MSGPACK}", field=names.CONTENT_TYPE)
    return plain
