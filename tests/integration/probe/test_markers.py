from __future__ import annotations

import base64
import json

import msgspec
import pytest

from .markers import Markers

WRAPPED = "so long as it is in here: {}."


@pytest.mark.parametrize(
    "encode",
    [
        lambda w: w.encode(),
        lambda w: w.upper().encode(),
        lambda w: json.dumps({"a": [WRAPPED.format(w)]}).encode(),
        lambda w: "".join(f"\\u{ord(c):04x}" for c in w).encode(),
        lambda w: msgspec.msgpack.encode({"a": {"b": w}}),
        lambda w: base64.b64encode(WRAPPED.format(w).encode()),
        lambda w: base64.b64encode(b"x" + w.encode()),
        lambda w: base64.urlsafe_b64encode(b"xy" + w.encode() + b"z"),
        lambda w: w.encode().hex().upper().encode(),
        lambda w: w.encode("utf-16"),
        lambda w: "".join(f"%{ord(c):02X}" for c in w).encode(),
        lambda w: w[::-1].encode(),
    ],
    ids=["text", "upper", "json", "escaped", "msgpack", "base64", "base64+1", "base64+2", "hex", "utf-16", "url",
         "reversed"],
)  # fmt: skip
def test_a_secret_is_found_in_every_encoding(encode: object) -> None:
    assert callable(encode)
    markers = Markers()
    word = markers.new("content")
    (leak,) = markers.leaks("a reply", b"{" + encode(word) + b"}")
    assert (leak.what, leak.where) == ("content", "a reply")


def test_what_the_reader_said_itself_is_no_secret() -> None:
    markers = Markers()
    word, other = markers.new("pool"), markers.new("agent")
    markers.say(f"asked for shared/{word}")
    assert markers.leaks("a reply", f"there is no {word}".encode()) == []
    (leak,) = markers.leaks("a reply", f"{word} of {other}".encode())
    assert leak.what == "agent"


def test_where_there_is_nothing_nothing_is_found() -> None:
    markers = Markers()
    for n in range(50):
        markers.new(str(n))
    assert markers.leaks("a reply", b"the quick brown fox" * 1000) == []
