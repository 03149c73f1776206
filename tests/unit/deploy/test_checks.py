"""What the doctor looks at without a bus."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from afterwit.deploy.checks import Check, Doctor
from afterwit.deploy.data_dir import DataDir

README = Path(__file__).parents[3] / "README.md"


async def about(what: str, tmp_path: Path, **environ: str) -> list[Check]:
    checks = [check async for check in Doctor(DataDir(tmp_path / "data"), environ).examine()]
    return [check for check in checks if check.what == what]


async def test_what_the_readme_has_is_known_and_so_is_a_file_in_its_place(tmp_path: Path) -> None:
    variables = re.findall(r"^\| `(AFTERWIT_\w+)`", README.read_text("utf-8"), re.MULTILINE)
    assert len(variables) > 40
    given = dict.fromkeys(variables, "") | {"AFTERWIT_QDRANT_API_KEY_FILE": ""}
    assert [check.state for check in await about("settings", tmp_path, **given)] == ["ok"]
    (wrong,) = await about("settings", tmp_path, AFTERWIT_QDRANT_ULR="x")
    assert (wrong.state, wrong.detail) == ("warn", "AFTERWIT_QDRANT_ULR: no setting has this name")


async def test_a_directory_that_cannot_be_looked_at_is_a_finding(tmp_path: Path) -> None:
    """Somebody else's, say; here the name is too long for any file system."""
    (found,) = await about("data directory", tmp_path / ("x" * 300))
    assert (found.state, "File name too long" in found.detail) == ("fail", True)


async def test_a_ready_file_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    data.prepare()
    data.ready_file.mkdir()
    with data.hold():
        (found,) = await about("ready file", tmp_path)
    assert found.state == "fail"
    assert str(data.ready_file) in found.detail


@pytest.mark.parametrize(
    ("url", "detail"),
    [("nats://127.0.0.1:1,nats://127.0.0.1:2", "Connect call failed"), ("nats://host:port", "is no NATS URL")],
)
async def test_a_url_that_leads_nowhere_is_a_finding(tmp_path: Path, url: str, detail: str) -> None:
    (found,) = await about("NATS and nodes", tmp_path, AFTERWIT_URL=url)
    assert found.state == "fail"
    assert detail in found.detail
