"""What is only a view can be thrown away: it is made again from the log."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.engines.agents import agent, pools_of
from tests.engines.system import afterwit_up


async def test_without_its_index_everything_is_found_again(tmp_path: Path, unused: str) -> None:
    async with afterwit_up(tmp_path, "alice") as system, agent(system, "alice") as alice:
        kept = await alice.store("The north door sticks.", session_id=unused, turn=1)
        first = await alice.store("The south door is locked.", tags=["doors"])
        changed = (await alice.tool("memory_update", id=first["id"], expected_version=1, content="It is open."))[
            "memory"
        ]
        gone = await alice.store("The east door squeaks.")
        await alice.tool("memory_forget", ids=[gone["id"]], reason="oiled")
        before = await pools_of(alice)
        token = alice.token
    shutil.rmtree(tmp_path / "data" / "index")

    async with afterwit_up(tmp_path, "alice") as system, agent(system, "alice") as alice:
        assert alice.token == token
        assert {memory["id"]: memory for memory in await alice.retrieve("doors")} == {
            kept["id"]: kept,
            changed["id"]: changed,
        }
        archived = await alice.retrieve("doors", include_archived=True)
        assert {memory["id"] for memory in archived} == {kept["id"], changed["id"], gone["id"]}
        assert await pools_of(alice) == before
        assert (await alice.tool("memory_context", session_id=unused))["turns"] == [kept]
        notices = (await alice.tool("memory_changes"))["notices"]
        assert [notice["change"] for notice in notices] == ["created", "created", "updated", "created", "archived"]
