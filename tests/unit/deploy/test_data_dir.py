"""The data directory: found by option, variable or default; private; held by one."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from afterwit.deploy.data_dir import DataDir, checked_agent, write_private
from afterwit.deploy.ready import Ready
from afterwit.schemas import Invalid, NotFound, Unavailable

READY = Ready(
    mcp="http://h/mcp",
    nats="nats://h",
    health="http://h/health",
    gateways=("http://h",),
    agents={},
    data_dir="d",
    pid=1,
    processes=(),
)


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    found = DataDir(tmp_path / "data")
    found.prepare()
    return found


def test_the_option_comes_before_the_variable_and_that_before_the_default(tmp_path: Path) -> None:
    environ = {"AFTERWIT_DATA_DIR": "~/elsewhere"}
    assert DataDir.find(tmp_path, environ).path == tmp_path
    assert DataDir.find(None, environ).path == Path.home() / "elsewhere"
    assert DataDir.find(None, {}).path == Path.home() / ".afterwit"


def test_what_is_written_is_private_and_whole(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("old")
    file.chmod(0o644)
    write_private(file, "new")
    assert file.read_text() == "new"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match=r"cannot be used .*--data-dir"):
        DataDir(tmp_path / "file" / "data").prepare()


def test_one_holds_it_and_the_next_is_told_who(data: DataDir) -> None:
    assert data.held_by() is None
    with data.hold():
        assert data.held_by() == os.getpid()
        with pytest.raises(Unavailable, match=f"process {os.getpid()}") as caught, data.hold():
            pass
        assert caught.value.detail["pid"] == os.getpid()
    assert data.held_by() is None
    with data.hold():
        pass


def test_a_ready_file_counts_only_while_somebody_holds_it(data: DataDir) -> None:
    write_private(data.ready_file, msgspec.json.encode(READY).decode())
    assert data.running() is None
    with data.hold():
        assert data.running() == READY
        data.ready_file.unlink()
        assert data.running() is None


def test_tokens_are_kept_by_agent(data: DataDir) -> None:
    data.keep_token("alice", "aw.alice.x")
    assert data.token("alice") == "aw.alice.x"
    data.forget_token("alice")
    with pytest.raises(NotFound, match="afterwit up --agent alice"):
        data.token("alice")


@pytest.mark.parametrize("name", ["", "../alice", "Alice", "a.b", "a" * 64, "-a", "ａlice"])
def test_a_name_cannot_lead_elsewhere(data: DataDir, name: str) -> None:
    with pytest.raises(Invalid, match="is no agent's name"):
        data.kept_token(name)
    with pytest.raises(Invalid):
        checked_agent(name)
