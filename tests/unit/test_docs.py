"""What the documents say is there is there. (The code in them is run against a real bus by the integration tests.)"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from afterwit.bus.mcp.settings import GatewaySettings
from afterwit.bus.settings import Setting, settings_of
from afterwit.memory_node.settings import NodeSettings
from afterwit.schemas.operations import OPERATIONS

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
README = (ROOT / "README.md").read_text("utf-8")
SETTINGS = [setting for cls in (NodeSettings, GatewaySettings) for setting in settings_of(cls)]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", document.read_text("utf-8"))

    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.variable)
def test_every_setting_has_its_row_in_the_readme(setting: Setting) -> None:
    row = re.search(rf"^\| `{setting.variable}` \| (?:`(.*?)`)? ?\| \S.* \|$", README, re.MULTILINE)

    assert row is not None
    assert (row[1] or "") == shown(setting.default)


def test_every_variable_of_the_readme_is_known_to_the_code() -> None:
    code = "".join(
        path.read_text("utf-8")
        for room in ("agents", "bus", "deploy", "memory_node", "tests")
        for path in (ROOT / room).rglob("*.py")
    )
    variables = re.findall(r"^\| `(AFTERWIT_\w+)`", README, re.MULTILINE)
    declared = {setting.variable for setting in SETTINGS}

    assert len(variables) == len(set(variables))
    assert [name for name in variables if name not in declared and f'"{name}"' not in code] == []


def shown(default: object) -> str:
    match default:
        case None | () | msgspec.NODEFAULT:
            return ""
        case Path():
            return default.as_posix()
        case bool():
            return str(default).lower()
        case _:
            return str(default)


def test_the_changelog_names_every_operation() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")

    assert [op for op in OPERATIONS if f"`{op}`" not in text] == []
