"""kill -9 of the node while it looks back on many sessions: each effect is there, and once."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engines.agents import Agent, agent
from tests.engines.system import System, launched
from tests.engines.waiting import wait_until

SESSIONS = 8


@pytest.fixture(scope="module")
def doomed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A system whose node may be killed."""
    with launched(tmp_path_factory.mktemp("doomed"), "alice") as running:
        yield running


async def worked(one: Agent, session: str, number: int) -> None:
    events = (
        ("user_input", "user", f"Please mend pump {number}. Never switch off pump {number + 100} meanwhile."),
        ("tool_call", "agent", f"restart(pump='{number}')"),
        ("tool_result", "tool", f"error: valve {number * 7} is stuck"),
        ("tool_call", "agent", f"restart(pump='{number}', valve='open')"),
        ("tool_result", "tool", f"pump {number} runs at {number * 11} rpm"),
        (
            "final_answer",
            "agent",
            f"Pump {number} runs again at {number * 11} rpm; valve {number * 7} had to be opened.",
        ),
    )
    for turn, (kind, source, content) in enumerate(events, 1):
        await one.ask("store", content=content, kind=kind, source=source, session_id=session, turn=turn)


async def test_a_killed_worker_leaves_each_effect_once(doomed: System) -> None:
    async with agent(doomed, "alice") as alice:
        for number in range(SESSIONS):
            await worked(alice, f"s{number}", number)
        jobs = [(await alice.ask("end_session", session_id=f"s{number}"))["job_id"] for number in range(SESSIONS)]
        (pid,) = doomed.pids("node")
        os.kill(pid, signal.SIGKILL)

        async def restarted() -> bool:
            return doomed.pids("node") not in ([], [pid])

        await wait_until(restarted, description="the node is started anew")

    async with agent(doomed, "alice") as alice:
        states: dict[str, dict[str, Any]] = {}

        async def finished() -> bool:
            for job in jobs:
                states[job] = await alice.ask("reflect", job_id=job)
            return all(state["state"] == "done" for state in states.values())

        await wait_until(finished, description="every job is done", timeout_s=90)
        marks: Counter[str] = Counter()
        cursor: str | None = None
        while True:
            page = await alice.ask("list", pool="agent/alice", history=True, cursor=cursor)
            marks.update(m for v in page["versions"] for m in re.findall(r"\[job .*?\]$", v.get("reason") or ""))
            cursor = page.get("cursor")
            if cursor is None:
                break
        applied = sum(each["result"] == "applied" for state in states.values() for each in state["operations"])
        assert applied >= SESSIONS
        assert len(marks) == applied
        assert set(marks.values()) == {1}
