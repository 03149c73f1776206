"""As whom the command line speaks, and to which bus."""

from __future__ import annotations

from pathlib import Path

import pytest

from afterwit.deploy.client import DEFAULT_URL, Target
from afterwit.deploy.data_dir import DataDir
from afterwit.schemas import AfterwitError, Invalid, NotFound, Unauthenticated

ALICE, OTHER, BOB = (f"aw.{agent}.{digit * 64}" for agent, digit in (("alice", "1"), ("alice", "2"), ("bob", "3")))


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    found = DataDir(tmp_path)
    found.prepare()
    found.keep_token("alice", ALICE)
    return found


@pytest.mark.parametrize(
    ("token", "agent", "environ", "expected"),
    [
        (BOB, None, {"AFTERWIT_TOKEN": ALICE}, BOB),
        (None, None, {"AFTERWIT_TOKEN": BOB}, BOB),
        (None, "alice", {}, ALICE),
        (None, "alice", {"AFTERWIT_TOKEN": BOB}, ALICE),
        (None, "alice", {"AFTERWIT_TOKEN": OTHER}, OTHER),
        (None, None, {"AFTERWIT_AGENT": "alice"}, ALICE),
        (BOB, None, {"AFTERWIT_AGENT": "alice"}, BOB),
        (None, "bob", {"AFTERWIT_AGENT": "alice", "AFTERWIT_TOKEN": BOB}, BOB),
    ],
)
def test_which_token(
    data: DataDir, token: str | None, agent: str | None, environ: dict[str, str], expected: str
) -> None:
    target = Target.find(data, environ, server=None, token=token, agent=agent)
    assert target.token == expected
    assert target.agent == expected.split(".")[1]


@pytest.mark.parametrize(
    ("token", "agent", "error", "says"),
    [
        (None, None, Unauthenticated, "--token or AFTERWIT_TOKEN .* --agent NAME"),
        (None, "bob", NotFound, "no token of agent 'bob' is kept"),
        (None, "Bob", Invalid, "'Bob' is no agent's name"),
        ("secret", None, Invalid, "this is no token of an agent"),
        (BOB, "alice", Invalid, "that of 'bob', not of 'alice'"),
    ],
)
def test_without_a_good_token(
    data: DataDir, token: str | None, agent: str | None, error: type[AfterwitError], says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        Target.find(data, {}, server=None, token=token, agent=agent)
    assert "secret" not in caught.value.message


def test_which_bus(data: DataDir) -> None:
    def url(environ: dict[str, str], server: str | None = None) -> str:
        return Target.find(data, environ, server=server, token=ALICE, agent=None).url

    assert url({}) == DEFAULT_URL
    assert url({"AFTERWIT_URL": "nats://a"}) == "nats://a"
    assert url({"AFTERWIT_URL": "nats://a"}, "nats://b") == "nats://b"
