"""After a task, the bus looks back on it."""

from __future__ import annotations

from tests.engines.agents import Agent

EVENTS = (
    ("user_input", "Please restore the orders table. Never touch the billing table while you do it."),
    ("tool_call", "restore(table='orders', source='backup-7')"),
    ("tool_result", "error: backup-7 is encrypted with the old key"),
    ("agent_thought", "The backups up to 7 need the key from before the rotation."),
    ("tool_call", "restore(table='orders', source='backup-7', key='old')"),
    ("tool_result", "restored 18,204 rows"),
    ("final_answer", "The orders table is restored: 18,204 rows from backup-7, with the old key."),
)


async def worked(agent: Agent, session: str, pool: str | None = None) -> list[str]:
    """Store the events of a task; their ids."""
    ids: list[str] = []
    for turn, (kind, content) in enumerate(EVENTS, 1):
        event = {"content": content, "kind": kind, "session_id": session, "turn": turn, "caused_by": ids[-1:]}
        source = {"user_input": "user", "tool_result": "tool"}.get(kind, "agent")
        ids.append((await agent.ask("store", pool=pool or agent.pool, source=source, **event))["memory"]["id"])
    return ids


async def test_a_session_that_ends_becomes_one_episode(alice: Agent, unused: str) -> None:
    """Its events are told: task, steps, outcome, what the user said; it is linked to each of them."""
    ids = await worked(alice, unused)

    ended = await alice.ask("end_session", session_id=unused, user_feedback="that was quick")

    episode = ended["episode"]
    assert (episode["kind"], episode["author"], episode["on_behalf_of"]) == ("episode", "reflection", "alice")
    assert episode["data"]["outcome"] == "success"
    assert episode["data"]["user_feedback"] == "that was quick"
    assert {link["target"] for link in episode["links"] if link["rel"] == "derived_from"} == set(ids)
    for detail in ("18,204", "backup-7", "billing"):
        assert detail in episode["content"]


async def test_what_it_taught_is_kept_with_its_evidence(alice: Agent, pool: str, unused: str) -> None:
    """A job draws lessons and wishes from the session; each names the events that show it."""
    ids = await worked(alice, unused, pool)

    job = await alice.look_back(session_id=unused, end_session=True)

    assert job["state"] == "done", job
    kept = [each for each in job["operations"] if each["result"] == "applied"]
    assert {each["operation"]["kind"] for each in kept} >= {"lesson", "preference"}
    for each in kept:
        memory = (await alice.ask("get", id=each["id"]))["memory"]
        assert memory["tier"] == "semantic"
        assert memory["status"] in ("candidate", "active")
        assert memory["data"]["reflector"] == "rules/1"
        assert {link["target"] for link in memory["links"]} <= set(ids)


async def test_ending_a_session_twice_changes_nothing(alice: Agent, pool: str, unused: str) -> None:
    """The episode is the same version, and what was learnt is not learnt twice."""
    await worked(alice, unused, pool)
    first = await alice.look_back(session_id=unused, end_session=True)

    again = await alice.look_back(session_id=unused, end_session=True)

    assert again["episode"]["version"] == first["episode"]["version"] == 1
    assert again["job_id"] == first["job_id"]


async def test_a_dry_run_only_says_what_would_be_done(alice: Agent, pool: str, unused: str) -> None:
    """Nothing is written."""
    await worked(alice, unused, pool)

    job = await alice.look_back(session_id=unused, dry_run=True)

    assert {each["result"] for each in job["operations"]} == {"planned"}
    written = (await alice.ask("list", pool=pool))["versions"]
    assert {each["memory"]["author"] for each in written} == {"alice"}


async def test_what_is_drawn_from_a_shared_pool_stays_there(alice: Agent, bob: Agent, pool: str, unused: str) -> None:
    """The members of the pool learn from it; nobody else does."""
    await alice.ask("pool_grant", pool=pool, agent="bob", role="reader")
    await worked(alice, unused, pool)

    job = await alice.look_back(session_id=unused, end_session=True)

    assert job["episode"]["pool"] == pool
    found = await bob.ask("retrieve", query="Which key do the old backups need?", pools=[pool], kind="lesson")
    assert found["items"]
