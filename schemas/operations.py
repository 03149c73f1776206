"""All operations of the contract: each one request and one reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from . import change, entity, notices, pools, read, reflection, retrieve, store, trace


@dataclass(frozen=True, slots=True)
class Operation:
    """The name on the wire, and the Structs of both ways."""

    name: str
    request: type[msgspec.Struct]
    reply: type[msgspec.Struct]

    @property
    def description(self) -> str:
        """The request's docstring: what the operation is for."""
        return " ".join((self.request.__doc__ or "").split())


OPERATIONS: Final[dict[str, Operation]] = {
    op.name: op
    for op in (
        Operation("store", store.Store, store.StoreReply),
        Operation("store_many", store.StoreMany, store.StoreManyReply),
        Operation("get", read.Get, read.GetReply),
        Operation("retrieve", retrieve.Retrieve, retrieve.RetrieveReply),
        Operation("context", read.Context, read.ContextReply),
        Operation("trace", trace.Trace, trace.TraceReply),
        Operation("update", change.Update, change.UpdateReply),
        Operation("link", change.LinkRequest, change.LinkReply),
        Operation("share", change.Share, change.ShareReply),
        Operation("reflect", reflection.Reflect, reflection.ReflectReply),
        Operation("end_session", reflection.EndSession, reflection.EndSessionReply),
        Operation("forget", change.Forget, change.ForgetReply),
        Operation("history", read.History, read.HistoryReply),
        Operation("list", read.ListMemories, read.ListMemoriesReply),
        Operation("entity", entity.Entity, entity.EntityReply),
        Operation("feedback", retrieve.Feedback, retrieve.FeedbackReply),
        Operation("explain", retrieve.Explain, retrieve.ExplainReply),
        Operation("changes", notices.Changes, notices.ChangesReply),
        Operation("pools", pools.Pools, pools.PoolsReply),
        Operation("pool_create", pools.PoolCreate, pools.PoolReply),
        Operation("pool_set", pools.PoolSet, pools.PoolReply),
        Operation("pool_grant", pools.PoolGrant, pools.PoolReply),
        Operation("pool_revoke", pools.PoolRevoke, pools.PoolReply),
        Operation("health", pools.Health, pools.HealthReply),
    )
}


def json_schema(type: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a Struct, an object at its root."""
    (root,), components = msgspec.json.schema_components([type])
    name = root["$ref"].removeprefix("#/$defs/")
    schema = dict(components.pop(name))
    if components:
        schema["$defs"] = components
    return schema
