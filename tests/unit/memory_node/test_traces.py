"""Finding a text in files, whatever form it stands in."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import msgspec
import pytest

from afterwit.memory_node.traces import PIECE, Trace, traces

ENGLISH = 'He said "no/never" to the\tcafé'
CHINESE = "保险柜的密码是“七七八一”/不要告诉任何人"


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
@pytest.mark.parametrize(
    "written",
    [
        lambda text: text.encode(),
        lambda text: msgspec.msgpack.encode({"content": text}),
        lambda text: msgspec.json.encode({"content": text}),
        lambda text: json.dumps({"content": text}).encode(),
        lambda text: json.dumps({"content": text}, ensure_ascii=False).replace("/", "\\/").encode(),
        lambda text: text.encode("utf-16-le"),
    ],
    ids=["plain", "msgpack", "json", "json-ascii", "json-slashes", "utf-16"],
)
def test_every_form_is_found(tmp_path: Path, text: str, written: object) -> None:
    assert callable(written)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"\0" * 1000 + written(text) + b"\0" * 1000)
    assert {trace.file for trace in traces(tmp_path, text)} == {tmp_path / "deep" / "file"}


def test_the_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789needle")
    assert list(traces(tmp_path, "needle")) == [Trace(tmp_path / "file", 10, "utf-8")]
    assert list(traces(tmp_path, "no needle")) == []


def test_it_is_found_where_two_reads_meet(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\0" * ((1 << 20) - 3) + b"needle" + b"\0" * 100)
    assert [trace.offset for trace in traces(tmp_path, "needle")] == [(1 << 20) - 3]


def test_a_part_of_a_long_text_is_found(tmp_path: Path) -> None:
    text = "".join(f"sentence {n}; " for n in range(1000))
    (tmp_path / "file").write_text(text[4000 : 4000 + 2 * PIECE], encoding="utf-8")
    assert list(traces(tmp_path, text))
    (tmp_path / "file").write_text("nothing of it", encoding="utf-8")
    assert not list(traces(tmp_path, text))


def test_a_file_that_cannot_be_looked_through_is_no_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> int:
        raise OSError(errno.EIO, "input/output error")

    (tmp_path / "log").write_text(ENGLISH)
    monkeypatch.setattr(os, "lseek", refuse)
    with pytest.raises(OSError, match="input/output"):
        list(traces(tmp_path, ENGLISH))


def test_a_file_that_is_gone_by_then_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert list(traces(tmp_path, "needle")) == []
