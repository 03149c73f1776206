"""What people are shown of replies."""

from __future__ import annotations

from rich.console import Console

from afterwit.deploy.cli.tables import versions
from afterwit.schemas import HistoryReply, VersionRecord
from tests.samples import NOON


def test_every_row_of_a_history_says_what_was_done_and_why() -> None:
    changes: dict[str, tuple[object, object]] = {"content": ("备份", "備份")}
    reply = HistoryReply(
        versions=(
            VersionRecord(version=1, change="created", at=NOON, actor="alice"),
            VersionRecord(version=2, change="updated", at=NOON, actor="alice", changes=changes),
            VersionRecord(version=3, change="updated", at=NOON, actor="bob", reason="version 2 restored"),
        )
    )
    console = Console(width=120)
    with console.capture() as shown:
        console.print(versions(reply))
    for words in ("created", "content: 备份 → 備份", "updated: nothing differs", "version 2 restored"):
        assert shown.get().count(words) == 1
