"""The snippets of docs/connect.md, run as a reader would: as the agent alice, somewhere else than in our checkout."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines.system import System, clean_environment

DOCUMENT = Path(__file__).parents[3] / "docs" / "connect.md"
SNIPPETS = re.findall(r"^```python run\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)


def test_there_are_snippets() -> None:
    assert len(SNIPPETS) >= 3


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_a_snippet_runs(afterwit: System, tmp_path: Path, snippet: str) -> None:
    ready = afterwit.ready
    where = {"AFTERWIT_MCP": ready.mcp, "AFTERWIT_URL": ready.nats, "AFTERWIT_TOKEN": afterwit.token("alice")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", snippet],
        capture_output=True, cwd=tmp_path, env=clean_environment(**where), text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout
