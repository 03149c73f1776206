from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from nats.aio.client import Client

from afterwit.bus import names
from afterwit.bus.identity import RESERVED, Agents, digest, new_token
from afterwit.schemas import Invalid, NotFound


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


async def test_a_token_proves_who_holds_it(agents: Agents) -> None:
    token = await agents.add("alice")
    assert await agents.verify(token) == "alice"
    for wrong in ("", "alice", new_token("alice"), new_token("bob"), token[:-1] + ("0" if token[-1] != "0" else "1")):
        assert await agents.verify(wrong) is None


async def test_only_hashes_are_kept(node: Client, agents: Agents) -> None:
    token = await agents.add("alice")
    stored = await node.jetstream().get_last_msg(
        names.kv_stream(names.AGENTS), names.kv_subject(names.AGENTS, "alice"), direct=True
    )
    assert stored.data is not None
    assert digest(token) in stored.data.decode()
    assert token.rpartition(".")[2] not in stored.data.decode()


@pytest.mark.parametrize("name", ["", "Alice", "a.b", "a*", ">", "a b", "-a", "a" * 64, "\u0430lice", "alice\n"])
async def test_bad_names_are_refused(agents: Agents, name: str) -> None:
    with pytest.raises(Invalid, match="name: must be") as caught:
        await agents.add(name)
    assert caught.value.detail["field"] == "name"
    assert await agents.list() == []


@pytest.mark.parametrize("name", sorted(RESERVED))
async def test_the_names_of_parts_are_reserved(agents: Agents, name: str) -> None:
    with pytest.raises(Invalid, match="reserved"):
        await agents.add(name)


async def test_an_agent_is_added_once(agents: Agents) -> None:
    results = await asyncio.gather(*(agents.add("alice") for _ in range(4)), return_exceptions=True)
    tokens = [result for result in results if isinstance(result, str)]
    refused = [result for result in results if isinstance(result, Invalid)]
    assert (len(tokens), len(refused)) == (1, 3)
    assert "'alice' exists; for a new token, rotate" in refused[0].message
    assert await agents.verify(tokens[0]) == "alice"


async def test_rotation_leaves_time_to_change_over(node: Client) -> None:
    clock = Clock()
    agents = Agents(node, now=clock)
    first = await agents.add("alice")
    second = await agents.rotate("alice", grace_s=60)
    assert await agents.verify(first) == await agents.verify(second) == "alice"
    proof = await agents.prove(first)
    assert proof is not None
    assert proof.expires_at == clock.now + timedelta(seconds=60)
    clock.pass_s(60)
    assert await agents.verify(first) is None
    assert await agents.verify(second) == "alice"


async def test_at_most_two_tokens_are_good(agents: Agents) -> None:
    tokens = [await agents.add("alice"), await agents.rotate("alice"), await agents.rotate("alice")]
    assert [await agents.verify(token) for token in tokens] == [None, "alice", "alice"]
    tokens.append(await agents.rotate("alice", grace_s=0))
    assert [await agents.verify(token) for token in tokens] == [None, None, None, "alice"]


async def test_rotations_at_once_lose_no_token(agents: Agents) -> None:
    await agents.add("alice")
    tokens = await asyncio.gather(*(agents.rotate("alice") for _ in range(4)))
    assert [await agents.verify(token) for token in tokens].count("alice") == 2
    record = await agents.get("alice")
    assert record is not None
    assert len(record.tokens) == 2


async def test_revocation_is_final(agents: Agents) -> None:
    token = await agents.add("alice")
    await agents.revoke("alice")
    assert await agents.verify(token) is None
    revoked = await agents.get("alice")
    await agents.revoke("alice")
    assert await agents.get("alice") == revoked
    with pytest.raises(Invalid, match="for good"):
        await agents.rotate("alice")
    with pytest.raises(Invalid, match="for good"):
        await agents.add("alice")


async def test_who_is_not_there_is_not_found(agents: Agents) -> None:
    assert await agents.get("alice") is None
    for change in (agents.rotate, agents.revoke):
        with pytest.raises(NotFound, match="alice"):
            await change("alice")


async def test_all_agents_are_listed_by_name(agents: Agents) -> None:
    for name in ("carol", "alice", "bob"):
        await agents.add(name)
    await agents.revoke("bob")
    assert [record.name for record in await agents.list()] == ["alice", "bob", "carol"]


async def test_more_agents_than_one_answer_holds(agents: Agents) -> None:
    wanted = [f"a{number:04}" for number in range(1100)]
    for start in range(0, len(wanted), 100):
        await asyncio.gather(*map(agents.add, wanted[start : start + 100]))
    assert [record.name for record in await agents.list()] == wanted
