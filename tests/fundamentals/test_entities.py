"""What a pool knows of somebody or something that its memories name."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.client.subscriptions import ResourceUpdated

from afterwit.schemas.uris import entity_uri
from tests.engines.agents import Agent, Refused

LIVES = {"subject": "Ilse Okoro", "predicate": "lives in"}


def ids(listed: list[dict[str, Any]]) -> list[str]:
    return [each["memory"]["id"] for each in listed]


async def test_an_entity_has_a_page(alice: Agent, pool: str) -> None:
    """What holds and what held, what was told and what happened, and what is named beside it; newest first."""
    was = await alice.store(
        "Ilse Okoro lives in Lund.", pool=pool, tier="semantic", kind="fact", fact=LIVES | {"object": "Lund"}
    )
    holds = await alice.store(
        "Ilse Okoro lives in Malmö now.", pool=pool, tier="semantic", kind="fact", fact=LIVES | {"object": "Malmö"}
    )
    await alice.ask("link", source=holds["id"], target=was["id"], rel="supersedes")
    version = (await alice.ask("get", id=was["id"]))["memory"]["version"]
    await alice.ask("update", id=was["id"], expected_version=version, valid_to="2026-01-01T00:00:00Z")
    order = await alice.store(
        "Order 7731 was sent back.", pool=pool, entities=["ILSE OKORO", "Tarn sofa"], occurred_at="2026-05-01T09:00:00Z"
    )
    said = await alice.store("Rang Ilse Okoro about the sofa.", pool=pool, occurred_at="2026-05-02T09:00:00Z")
    told = await alice.store("The return was settled.", pool=pool, kind="episode", entities=["Ilse Okoro", "Tarn sofa"])
    await alice.store("Ilse Okorowitz is somebody else.", pool=pool)
    page = await alice.read(entity_uri(pool, "Ilse Okoro"))
    (meaning,) = page["meanings"]
    assert ids(meaning["facts"]) == [holds["id"]]
    assert ids(meaning["superseded"]) == [was["id"]]
    assert ids(meaning["episodes"]) == [told["id"]]
    assert ids(meaning["events"]) == [said["id"], order["id"]]
    assert meaning["memories"] == 5
    assert {"name": "Tarn sofa", "count": 2} in meaning["related"]
    assert await alice.ask("entity", pool=pool, name="ilse okoro") == page | {"name": "ilse okoro"}
    named = (await alice.read(f"memory://{pool}"))["entities"]
    assert entity_uri(pool, "Tarn sofa") in [each["uri"] for each in named]


@pytest.mark.parametrize(
    ("name", "somebody", "something"),
    [
        (
            "Jordan",
            ["Jordan said that the slides are late.", "Call Jordan."],
            ["Two nights in Jordan.", "Fly to Jordan"],
        ),
        ("杜鹃", ["给杜鹃订靠窗的座位。", "杜鹃说合同要改。"], ["她种了杜鹃。", "山上的杜鹃开了。"]),
    ],
)
async def test_namesakes_stand_apart(
    alice: Agent, pool: str, name: str, somebody: list[str], something: list[str]
) -> None:
    """By what is said beside the name, and by what it is said with."""
    stored = [{(await alice.store(text, pool=pool, entities=[name]))["id"] for text in texts}
              for texts in (somebody, something)]  # fmt: skip
    page = await alice.read(entity_uri(pool, name))
    assert [meaning["memories"] for meaning in page["meanings"]] == [2, 2]
    assert sorted(sorted(ids(meaning["events"])) for meaning in page["meanings"]) == sorted(map(sorted, stored))
    assert "person" in [meaning["kind"] for meaning in page["meanings"]]


async def test_a_page_is_told_when_what_names_it_changes(alice: Agent, pool: str) -> None:
    """And not when something else does."""
    uri = entity_uri(pool, "Élias Quay")
    async with alice.mcp.listen(resource_subscriptions=[uri, f"memory://{pool}"]) as events:
        told = aiter(events)
        await alice.store("The depot is closed.", pool=pool)
        assert await anext(told) == ResourceUpdated(uri=f"memory://{pool}")
        memory = await alice.store("Owes 40 crowns.", pool=pool, entities=["elias quay"])
        assert {await anext(told) for _ in range(2)} == {
            ResourceUpdated(uri=f"memory://{pool}"), ResourceUpdated(uri=uri),
        }  # fmt: skip
        await alice.ask("update", id=memory["id"], expected_version=1, entities=["Elias Kay"])
        assert {await anext(told) for _ in range(2)} == {
            ResourceUpdated(uri=f"memory://{pool}"), ResourceUpdated(uri=uri),
        }  # fmt: skip


async def test_what_nothing_names_has_no_page(alice: Agent, bob: Agent, pool: str) -> None:
    """Nor has what only others may read about, nor what needs a clearance."""
    await alice.store("Nadia Berg called the clinic.", pool=pool, labels=["health"])
    for agent, name in ((alice, "Nobody At All"), (alice, "Nadia Berg"), (bob, "Nadia Berg")):
        with pytest.raises(Refused) as refused:
            await agent.ask("entity", pool=pool, name=name)
        assert refused.value.code == "not_found"
    page = await alice.ask("entity", pool=pool, name="Nadia Berg", clearance=["health"])
    assert page["meanings"][0]["memories"] == 1
