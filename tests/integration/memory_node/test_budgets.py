"""Budgets are kept by the tokenizer of the model that reads, through the whole node."""

from __future__ import annotations

from pathlib import Path

from nats.aio.client import Client

from afterwit.memory_node.settings import NodeSettings
from afterwit.memory_node.tokens import count_tokens
from afterwit.schemas import Context, Retrieve
from tests.engines.nats_server import NatsServer
from tests.tokenizers import word_tokenizer

from .test_triggers import running

WHEN = {"Alder": "mornings", "Birch": "afternoons", "Cedar": "evenings", "Dogwood": "weekends"}
SAID = [f"Depot {name} closes punctually, unconditionally, {when}." for name, when in WHEN.items()]
WORDS = 6


async def test_a_budget_is_filled_by_the_models_own_tokens(
    nc: Client, nats_server: NatsServer, valkey: str, tmp_path: Path
) -> None:
    tokenizer = word_tokenizer(tmp_path / "tokenizer.json")
    settings = NodeSettings(nats_url=nats_server.url, redis_url=valkey, data_dir=tmp_path / "data", tokenizer=tokenizer)
    budget = len(SAID) * WORDS
    assert sum(map(count_tokens, SAID)) > budget, "by the estimate they would not fit"
    async with running(nc, settings) as bus:
        await bus.say("s", *SAID)

        found = await bus.ask(Retrieve(query="When does the depot close?", max_tokens=budget - 1))
        context = await bus.ask(Context(session_id="s", max_tokens=budget))

    assert [len(item.memory.content.split()) for item in found.items] == [WORDS] * 3
    assert [turn.content for turn in context.turns] == SAID
    assert context.tokens == budget
