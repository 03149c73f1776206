"""What types cannot say: sizes in bytes, that data is JSON, that a time can be kept in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from .errors import Invalid, TooLarge
from .words import MAX_CONTENT_BYTES, MAX_DATA_BYTES, Json

_MAX_DEPTH: Final = 100
"""Of lists and objects in `data`, well under where encoders give up."""

_FIRST: Final = datetime(1, 1, 2, tzinfo=UTC)
_LAST: Final = datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)
"""What datetime can hold, less what is added to and taken from it: the half hour of a conversation, an instant."""


def check_sizes(content: str | None, data: Json) -> None:
    """Refuse what is over the contract's limits, and data that is not JSON.

    Raises:
        TooLarge: names the field and its limit.
        Invalid: names the field.
    """
    if content is not None and len(content) * 4 > MAX_CONTENT_BYTES:
        size = len(content.encode("utf-8", "surrogatepass"))
        if size > MAX_CONTENT_BYTES:
            raise TooLarge(
                f"content is {size} bytes of UTF-8 and may have {MAX_CONTENT_BYTES}: "
                "split it, or put the bulk into data and a digest into content",
                field="content",
                limit_bytes=MAX_CONTENT_BYTES,
            )
    if data is not None:
        _check_data(data)


def check_times(**times: datetime | None) -> None:
    """Refuse a time that cannot be had in UTC, or that nothing can be reckoned from.

    Raises:
        Invalid: names the field.
    """
    for field, time in times.items():
        if time is not None and not _FIRST <= time <= _LAST:
            raise Invalid(
                f"{field}: must lie between 0001-01-02 and 9999-12-31 in UTC",
                field=field,
            )


def _check_data(data: Json) -> None:
    try:
        encoded = msgspec.json.encode(data)
        if len(encoded) > MAX_DATA_BYTES:
            raise TooLarge(
                f"data is {len(encoded)} bytes of JSON and may have {MAX_DATA_BYTES}: "
                "keep the bulk elsewhere and store a reference",
                field="data",
                limit_bytes=MAX_DATA_BYTES,
            )
        msgspec.msgpack.encode(data)  # as the log will hold it: integers have 64 bits there
        # Only what JSON has comes back as it was: not bytes, keys that are no strings, infinities.
        same = msgspec.json.decode(encoded) == data
    except UnicodeEncodeError as e:
        raise Invalid("data: holds a lone surrogate, which UTF-8 cannot say; remove it", field="data") from e
    except OverflowError as e:
        raise Invalid("data: holds an integer of more than 64 bits; write it as a string", field="data") from e
    except RecursionError as e:
        raise _too_deep() from e
    except TypeError as e:
        raise Invalid(f"data: is not JSON: {e}", field="data") from e
    if not same:
        raise Invalid("data: holds what JSON does not have (bytes, NaN, a key that is no string)", field="data")
    if encoded.count(b"[") + encoded.count(b"{") > _MAX_DEPTH and _deeper_than(data, _MAX_DEPTH):
        raise _too_deep()


def _too_deep() -> Invalid:
    return Invalid(f"data: is nested more than {_MAX_DEPTH} deep; flatten it", field="data")


def _deeper_than(value: Json, depth: int) -> bool:
    if not isinstance(value, dict | list | tuple):
        return False
    if depth == 0:
        return True
    inner = value.values() if isinstance(value, dict) else value
    return any(_deeper_than(v, depth - 1) for v in inner)
