"""The collections of a Qdrant server that make up one index, and the aliases that say which of them does what.

::

    afterwit.<model>-<dimensions>-v1           alias: the collection that serves; all reads go here
    afterwit.<model>-<dimensions>-v1.whole     alias: the same one, once it holds the whole log
    afterwit.<model>-<dimensions>-v1.next.…    alias: one that is being built; every node writes to it as well
    afterwit.<model>-<dimensions>-v1.c.…       a collection

Aliases are switched in one step for all nodes. A node learns of a new collection by reading the aliases with each
write (see `QdrantIndex.put`). What it read before the announcement was in the log before it, where the rebuild, which
reads the log after it, finds it: so a rebuild misses nothing that any node acknowledges.
"""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from dataclasses import dataclass
from typing import Any, Final

from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from ._points import DENSE, FIELDS, SCHEMA, WORDS
from ._rest import FIELD_SCHEMAS, VECTORS_DISTANCE
from .calibration import Calibration, file_stem

_ABANDONED_AFTER_S: Final = 6 * 3600
"""A rebuild that has not ended by then has died with its node."""

_ANNOUNCED_AFTER_S: Final = 300
"""A new collection has its alias by then."""

_SETTLING_S: Final = 2.0
"""How long a cluster takes at most, as we assume, until every peer knows of an alias that one has acknowledged."""


@dataclass(frozen=True, slots=True)
class Targets:
    """Which collections take writes; the serving one is first."""

    serving: str
    next: tuple[str, ...]
    whole: bool

    @property
    def all(self) -> tuple[str, ...]:
        """Every collection that takes writes."""
        return (self.serving, *self.next)


class Collections:
    """Of one index. Engine errors pass through as they are."""

    def __init__(self, client: AsyncQdrantClient, calibration: Calibration, *, prefix: str, replicas: int) -> None:
        self._client = client
        self._dimensions = calibration.dimensions
        self._replicas = replicas
        self.alias = f"{prefix}.{file_stem(calibration.model)}-{calibration.dimensions}-v{SCHEMA}"

    async def open(self) -> Targets:
        """The collections as they are; the first one is made if there is none."""
        if (found := await self.targets()) is not None:
            return found
        first = f"{self.alias}.c.first"  # the same name for nodes that start at the same moment
        await self._create(first)
        if (found := await self.targets()) is not None:
            return found
        await self._change(_create(self.alias, first))
        return Targets(first, (), whole=False)

    async def targets(self) -> Targets | None:
        """Who takes writes now; ``None`` before the first `open`."""
        aliases = await self._aliases()
        serving = aliases.get(self.alias)
        if serving is None:
            return None
        announced = tuple(sorted(name for alias, name in aliases.items() if alias.startswith(f"{self.alias}.next.")))
        return Targets(serving, announced, whole=aliases.get(f"{self.alias}.whole") == serving)

    async def begin(self) -> str:
        """A new collection, announced: when this has returned, it gets every write that was not yet in the log."""
        await self._remove_abandoned()
        token = f"{int(time.time())}-{uuid.uuid4().hex[:8]}"
        name = f"{self.alias}.c.{token}"
        await self._create(name)
        await self._change(_create(f"{self.alias}.next.{token}", name))
        if self._replicas > 1:
            await asyncio.sleep(_SETTLING_S)
        return name

    async def swap(self, name: str) -> None:
        """Let ``name``, which holds the whole log, serve in the place of the one that does, and remove that one."""
        aliases = await self._aliases()
        before = aliases.get(self.alias)
        changes = [_create(self.alias, name), _create(f"{self.alias}.whole", name), _delete(_next_alias(name))]
        for alias in (f"{self.alias}.whole", self.alias):
            if alias in aliases:
                changes.insert(0, _delete(alias))
        await self._change(*changes)
        if before is not None and before != name:
            await self._client.delete_collection(before)

    async def abandon(self, name: str) -> None:
        """Forget ``name``, which `begin` gave. Repeating it does nothing."""
        if _next_alias(name) in await self._aliases():
            await self._change(_delete(_next_alias(name)))
        await self._client.delete_collection(name)

    async def _remove_abandoned(self) -> None:
        """What a node left behind that died while it rebuilt, or that ended its rebuild when another one did."""
        aliases = await self._aliases()
        in_use = set(aliases.values())
        for each in (await self._client.get_collections()).collections:
            if each.name.startswith(f"{self.alias}.c.") and each.name not in in_use:
                if _age_s(each.name) > _ANNOUNCED_AFTER_S:
                    await self._client.delete_collection(each.name)
            elif _next_alias(each.name) in aliases and _age_s(each.name) > _ABANDONED_AFTER_S:
                await self.abandon(each.name)

    async def _aliases(self) -> dict[str, str]:
        return {each.alias_name: each.collection_name for each in (await self._client.get_aliases()).aliases}

    async def _change(self, *operations: Any) -> None:
        await self._client.update_collection_aliases(list(operations))

    async def _create(self, name: str) -> None:
        """Make the collection and its payload indexes; what is there already stays."""
        if not await self._client.collection_exists(name):
            try:
                await self._client.create_collection(
                    name,
                    vectors_config={DENSE: models.VectorParams(size=self._dimensions, distance=VECTORS_DISTANCE)},
                    sparse_vectors_config={WORDS: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                    replication_factor=self._replicas,
                    write_consistency_factor=self._replicas // 2 + 1,
                )
            except UnexpectedResponse:
                if not await self._client.collection_exists(name):  # else another node was faster
                    raise
        await asyncio.gather(
            *(self._client.create_payload_index(name, field, FIELD_SCHEMAS[kind]) for field, kind in FIELDS.items())
        )


def _age_s(name: str) -> float:
    """How long ago a collection was made, by the clock of the node that did."""
    made = name.rpartition(".c.")[2].partition("-")[0]
    return time.time() - int(made) if made.isdigit() else math.inf


def _next_alias(name: str) -> str:
    alias, _, token = name.rpartition(".c.")
    return f"{alias}.next.{token}"


def _create(alias: str, name: str) -> models.CreateAliasOperation:
    return models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=name, alias_name=alias))


def _delete(alias: str) -> models.DeleteAliasOperation:
    return models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
