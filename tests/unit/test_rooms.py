"""Which room may know which: the table of docs/architecture.md, read from the imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAY_IMPORT = {
    "schemas": set[str](),
    "bus": {"schemas"},
    "memory_node": {"schemas", "bus"},
    "agents": {"schemas", "bus"},
    "deploy": {"schemas", "bus", "memory_node", "agents"},
}
OURS = [path for room in MAY_IMPORT for path in sorted((ROOT / room).rglob("*.py"))]


def imported(path: Path) -> Iterator[str]:
    """The absolute dotted names of all that ``path`` imports, relative imports resolved."""
    package = ("afterwit", *path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            yield from (".".join((*base, *filter(None, [node.module]), alias.name)) for alias in node.names)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", OURS, ids=name_of)
def test_a_room_knows_only_the_rooms_that_it_may(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    known = {name.split(".")[1] for name in imported(path) if name.startswith("afterwit.")} - {"__version__"}

    assert known <= MAY_IMPORT[room] | {room}


@pytest.mark.parametrize("path", OURS, ids=name_of)
def test_no_room_is_imported_by_its_bare_name(path: Path) -> None:
    assert not {name.split(".")[0] for name in imported(path)} & MAY_IMPORT.keys()


@pytest.mark.parametrize("path", [p for p in OURS if p.is_relative_to(ROOT / "memory_node")], ids=name_of)
def test_a_node_never_touches_mcp(path: Path) -> None:
    """Nodes and gateways meet on NATS only, so that each can be restarted and replaced alone."""
    names = set(imported(path))

    assert not {name for name in names if name.split(".")[0] == "mcp" or name.startswith("afterwit.bus.mcp")}


@pytest.mark.parametrize("path", OURS, ids=name_of)
def test_files_stay_short_enough_to_be_read_at_once(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 500
