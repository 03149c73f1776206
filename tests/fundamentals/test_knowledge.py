"""What is held to be true: said again it grows stronger, contradicted it is disputed, replaced it is history."""

from __future__ import annotations

from typing import Any

from tests.engines.agents import Agent

Stored = dict[str, Any]


async def fact(agent: Agent, pool: str, subject: str, predicate: str, value: str, **fields: Any) -> Stored:
    """Store one fact with its sentence."""
    triple = {"subject": subject, "predicate": predicate, "object": value}
    content = fields.pop("content", f"The {predicate} of {subject} is {value}.")
    return await agent.ask("store", content=content, fact=triple, pool=pool, kind="fact", tier="semantic", **fields)


async def test_two_facts_that_cannot_both_be_true_are_disputed(alice: Agent, pool: str) -> None:
    """The answer names the other one; both are marked and linked, and neither is hidden."""
    first = await fact(alice, pool, "the depot gate", "code", "4417")

    second = await fact(alice, pool, "Depot gate", "code", "9020")

    (conflict,) = second["conflicts"]
    assert (conflict["id"], conflict["kind"], conflict["action"]) == (
        first["memory"]["id"],
        "contradiction",
        "disputed",
    )
    for id, other in ((first, second), (second, first)):
        memory = (await alice.ask("get", id=id["memory"]["id"]))["memory"]
        assert memory["status"] == "disputed"
        assert ("contradicts", other["memory"]["id"]) in {(link["rel"], link["target"]) for link in memory["links"]}
    found = await alice.ask("retrieve", query="code of the depot gate", pools=[pool])
    assert len(found["items"]) == 2


async def test_a_newer_fact_that_says_so_replaces_the_older_one(alice: Agent, pool: str) -> None:
    """The older one is superseded, valid until then, and no longer found."""
    first = await fact(alice, pool, "Marta", "seat", "window", occurred_at="2026-03-01T08:00:00Z")

    second = await fact(
        alice, pool, "Marta", "seat", "aisle",
        content="Marta changed her mind: from now on she sits on the aisle, no longer at the window.",
        occurred_at="2026-05-01T08:00:00Z",
    )  # fmt: skip

    assert [each["action"] for each in second["conflicts"]] == ["superseded"]
    old = (await alice.ask("get", id=first["memory"]["id"]))["memory"]
    assert old["status"] == "superseded"
    assert old["valid_to"].startswith("2026-05-01T08:00:00")
    found = await alice.ask("retrieve", query="Where does Marta like to sit?", pools=[pool])
    assert [item["memory"]["id"] for item in found["items"]] == [second["memory"]["id"]]


async def test_the_same_fact_from_somebody_else_is_evidence(alice: Agent, bob: Agent, pool: str) -> None:
    """It strengthens the first; both stay."""
    await alice.ask("pool_grant", pool=pool, agent="bob", role="writer")
    first = await fact(alice, pool, "Lake cabin", "price", "120 EUR")

    second = await fact(bob, pool, "lake cabin", "price", "120 €")

    assert [each["action"] for each in second["conflicts"]] == ["strengthened"]
    known = (await alice.ask("get", id=first["memory"]["id"]))["memory"]
    assert known["evidence"]["supporting"] == 1
    assert known["status"] == "active"


async def test_repeating_oneself_is_no_evidence(alice: Agent, pool: str, unused: str) -> None:
    """What is said again in the same session goes into what was said before."""
    first = await fact(alice, pool, "Lake cabin", "price", "120 EUR", session_id=unused)

    second = await fact(alice, pool, "Lake cabin", "price", "120 EUR", session_id=unused)

    assert [each["action"] for each in second["conflicts"]] == ["merged"]
    assert second["memory"]["status"] == "archived"
    assert (await alice.ask("get", id=first["memory"]["id"]))["memory"]["evidence"]["supporting"] == 0


async def test_different_things_stand_beside_each_other(alice: Agent, pool: str) -> None:
    """Same predicate, other subject; same subject, other predicate."""
    await fact(alice, pool, "North hut", "price", "80 EUR")

    for subject, predicate, value in (("South hut", "price", "95 EUR"), ("North hut", "size", "40 m²")):
        stored = await fact(alice, pool, subject, predicate, value)
        assert stored["conflicts"] == []
        assert stored["memory"]["status"] == "active"


async def test_an_update_that_contradicts_is_told_as_well(alice: Agent, pool: str) -> None:
    """Whoever corrects a fact hears what that does to others."""
    await fact(alice, pool, "Server rack", "limit", "12 kW")
    other = await fact(alice, pool, "Server rack", "colour", "black")

    triple = {"subject": "Server rack", "predicate": "limit", "object": "15 kW"}
    changed = await alice.ask(
        "update", id=other["memory"]["id"], expected_version=1, content="The limit of the rack is 15 kW.", fact=triple
    )

    assert [each["kind"] for each in changed["conflicts"]] == ["contradiction"]
