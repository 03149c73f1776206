from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from afterwit.deploy.engines.nats import make_credentials, nats_config
from afterwit.schemas import Unavailable
from tests.engines.nats_server import EXECUTABLE


def test_credentials_are_made_once_and_for_the_owner_alone(tmp_path: Path) -> None:
    made = make_credentials(tmp_path / "credentials")
    assert make_credentials(tmp_path / "credentials") == made
    files = {file.name: file for file in (tmp_path / "credentials").iterdir()}
    assert sorted(files) == ["admin.json", "callout.json", "gateway.json", "node.json", "sys.json"]
    assert {file.stat().st_mode & 0o777 for file in files.values()} == {0o600}
    assert json.loads(files["node.json"].read_text()) == {"user": "node", "password": made.node.password}


def test_all_who_make_credentials_at_once_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: make_credentials(tmp_path), range(16)))
    assert all(one == made[0] for one in made)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    make_credentials(tmp_path)
    (tmp_path / "sys.json").write_text("{")
    with pytest.raises(Unavailable, match=r"sys\.json"):
        make_credentials(tmp_path)


@pytest.mark.parametrize("sync_interval", [None, "always", "10s"])
def test_the_server_accepts_the_configuration(tmp_path: Path, sync_interval: str | None) -> None:
    directory = tmp_path / 'it\'s a "strange" {place}'
    directory.mkdir()
    text = nats_config(
        host="127.0.0.1",
        port=4377,
        store_dir=directory,
        credentials=make_credentials(tmp_path),
        sync_interval=sync_interval,
    )
    (tmp_path / "nats.conf").write_text(text)
    checked = subprocess.run(
        [EXECUTABLE, "-t", "-c", tmp_path / "nats.conf"], capture_output=True, text=True, timeout=30, check=False
    )
    assert checked.returncode == 0, checked.stderr
