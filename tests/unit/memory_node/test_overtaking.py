"""What few brought need not wait behind what one brought in bulk. The stream and the worker are doubles."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from afterwit.bus import names
from afterwit.bus.direct import Stored
from afterwit.memory_node.overtaking import MOST, Overtaking


class World:
    """The stream, and the worker, which acknowledges what it is given but for items in ``away``."""

    def __init__(self, *items: tuple[str, int]) -> None:
        self.items = [Stored(_subject(agent), seq, b"{}", {"Nats-Sequence": "1", "k": "v"}) for agent, seq in items]
        self.agents_in_hand = {"alice"}
        self.parked: set[int] = set()
        self.away: set[int] = set()
        self.stored: list[int] = []
        worker = SimpleNamespace(agents=self.agents_in_hand, is_parked=self.parked.__contains__, handle=self.handle)
        self.overtaking = Overtaking(cast("Any", self), cast("Any", worker))

    async def agents(self) -> dict[str, list[str]]:
        return {names.parse_ingest(item.subject)[0]: [item.subject] for item in self.items}

    async def oldest(self, subject: str, limit: int) -> list[Stored]:
        return [item for item in self.items if item.subject == subject][:limit]

    async def remove(self, seq: int) -> None:
        self.items = [item for item in self.items if item.seq != seq]

    async def handle(self, messages: list[Any]) -> None:
        for message in messages:
            seq = message.metadata.sequence.stream
            assert message.headers == {"k": "v"}
            if seq in self.away:
                await message.nak(delay=2.0)
            else:
                self.stored.append(seq)
                await message.ack()


def _subject(agent: str) -> str:
    return names.ingest(agent, f"agent/{agent}")


async def test_a_single_item_overtakes_an_import_and_leaves_the_queue() -> None:
    world = World(*(("alice", seq) for seq in range(500)), ("bob", 500))
    await world.overtaking.look()
    assert world.stored == [500]
    assert {item.subject for item in world.items} == {_subject("alice")}


async def test_so_many_at_a_time_and_the_oldest_first() -> None:
    world = World(*(("bob", seq) for seq in range(1, 2 * MOST)))
    await world.overtaking.look()
    assert world.stored == list(range(1, MOST + 1))


async def test_whose_turn_it_is_and_what_is_over_quota_does_not_overtake() -> None:
    world = World(("alice", 1), ("bob", 2), ("bob", 3))
    world.parked.add(2)
    await world.overtaking.look()
    assert world.stored == [3]


async def test_what_cannot_be_stored_now_stays_in_the_queue() -> None:
    world = World(("bob", 1))
    world.away.add(1)
    await world.overtaking.look()
    assert [item.seq for item in world.items] == [1]
