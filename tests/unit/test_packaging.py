"""What is built and installed: the rooms under the import name, all of them, and nothing beside it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("agents", "bus", "deploy", "memory_node", "schemas")
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "src", *ROOMS)


def run(*arguments: str | Path, cwd: Path) -> str:
    """What ``python …`` prints, the registry out of reach."""
    env = os.environ | {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_wheel(source: Path, into: Path) -> Path:
    into.mkdir()
    run("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", into, ".", cwd=source)
    (wheel,) = into.glob("afterwit-*.whl")
    return wheel


def contents(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what packaging reads: building leaves traces in its folder."""
    copy = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(source, tmp_path_factory.mktemp("built") / "wheel")


def test_the_wheel_holds_every_file_of_every_room(source: Path, wheel: Path) -> None:
    files = {path for room in ROOMS for path in (source / room).rglob("*") if path.is_file()}
    expected = {f"afterwit/{path.relative_to(source).as_posix()}" for path in files}
    expected -= {"afterwit/deploy/Dockerfile"}  # makes an image from the checkout: of no use where it is installed

    assert contents(wheel) == expected | {"afterwit/__init__.py", "afterwit/py.typed"}


def test_the_wheel_takes_no_name_but_its_own(wheel: Path) -> None:
    assert {PurePosixPath(name).parts[0] for name in contents(wheel)} == {"afterwit"}


def test_the_source_distribution_builds_the_same_wheel(source: Path, wheel: Path, tmp_path: Path) -> None:
    call = f"from setuptools.build_meta import build_sdist; build_sdist({str(tmp_path)!r})"
    run("-c", call, cwd=source)
    (archive,) = tmp_path.glob("afterwit-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")

    rebuilt = build_wheel(tmp_path / archive.name.removesuffix(".tar.gz"), tmp_path / "wheel")

    assert contents(rebuilt) == contents(wheel)


def test_the_name_agents_stays_with_the_sdk_that_users_install_beside_us() -> None:
    """Asked from the root, where a folder of ours has that name; -P keeps it off the import path."""
    found = run("-P", "-c", "import agents; print(agents.__file__)", cwd=ROOT)

    assert "site-packages" in found


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_dependency_is_pinned_and_hashed_and_names_no_host(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    requirements = [
        line for line in text.replace("\\\n", "").splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]

    assert len(requirements) > 20
    assert all(re.match(r"[a-z0-9.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line) for line in requirements)
    assert "://" not in text
    assert "file:" not in text
