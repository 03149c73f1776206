"""Requests made up from an operation's schema, with somebody else's names wherever a name can stand."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from afterwit.schemas import OPERATIONS, json_schema

from .cases import Own
from .world import Things

Schema = dict[str, Any]


def random_requests(op: str, own: Own, its: Things, seed: int, count: int) -> Iterator[dict[str, Any]]:
    """``count`` requests of ``op``; the same ones for the same ``seed``."""
    schema = json_schema(OPERATIONS[op].request)
    chance = random.Random(f"{op} {seed}")  # noqa: S311  # to be repeated, not to be kept secret
    maker = _Maker(chance, own, its, schema.get("$defs", {}))
    for _ in range(count):
        yield maker.value("", schema)


class _Maker:
    def __init__(self, chance: random.Random, own: Own, its: Things, defs: dict[str, Schema]) -> None:
        self._chance = chance
        self._defs = defs
        pools = [its.pool, its.private_pool, own.pool, f"agent/{own.agent}"]
        ids = [its.private_id, its.shared_id, own.memory]
        self._words: dict[str, list[Any]] = {
            "pool": pools, "pools": pools, "agent": [its.agent, own.agent], "session_id": [its.session],
            "id": ids, "ids": ids, "source": [*ids, "agent", "user", "tool"], "target": ids, "caused_by": ids,
            "uri": [f"memory://{pool}/{id}" for pool in pools for id in ids],
            "retrieval_id": [its.retrieval, own.retrieval], "idempotency_key": [its.key, "k"],
            "tags": [its.tag, "tide"], "entities": [its.entity, "Harbour"], "task_type": [its.task_type],
            "labels": [its.label], "clearance": [its.label], "query": [its.word, "relay tide", its.entity],
            "content": ["relay", "潮汐"], "description": ["d"], "reason": ["r"], "cursor": ["0", "1", "x"],
            "profile": ["hybrid", "hindsight"], "time_zone": ["Europe/Lisbon", "Nowhere"], "purge": [False],
        }  # fmt: skip
        """By field; what is not here is made up from its type."""

    def value(self, name: str, schema: Schema) -> Any:
        if "$ref" in schema:
            return self.value(name, self._defs[schema["$ref"].rpartition("/")[2]])
        if schema.get("type") == "array":
            inner = schema.get("items") or {}
            low, high = schema.get("minItems", 0), min(schema.get("maxItems", 3), 3)
            return [self.value(name, inner) for _ in range(self._chance.randint(low, max(low, high)))]
        if "anyOf" in schema:
            return self.value(name, self._chance.choice(schema["anyOf"]))
        if "enum" in schema:
            return self._chance.choice(schema["enum"])
        if name in self._words:
            return self._chance.choice(self._words[name])
        return self._made_up(schema)

    def _made_up(self, schema: Schema) -> Any:
        match schema.get("type"):
            case "object" if "properties" in schema:
                required = schema.get("required", ())
                chosen = [n for n in schema["properties"] if n in required or self._chance.random() < 0.3]
                return {n: self.value(n, schema["properties"][n]) for n in chosen}
            case "object":
                return {"content": "relay", "pool": self._chance.choice(self._words["pool"])}
            case "integer":
                return self._chance.randint(schema.get("minimum", 0), min(schema.get("maximum", 20), 20))
            case "number":
                return round(self._chance.random(), 2)
            case "boolean":
                return self._chance.random() < 0.5
            case "null":
                return None
            case "string" if schema.get("format") == "date-time":
                return self._chance.choice(["2020-01-01T00:00:00Z", "2030-01-01T00:00:00+02:00"])
            case _:
                return "relay"
