"""The words of Afterwit as frozen Structs: memories, pools, requests, replies, notices, errors. No I/O."""

from .change import Forget, ForgetReply, LinkEnd, LinkReply, LinkRequest, Share, ShareReply, Update, UpdateReply
from .entity import Entity, EntityMeaning, EntityMemory, EntityReply, RelatedName
from .errors import (
    AfterwitError,
    ErrorBody,
    ErrorReply,
    Forbidden,
    Internal,
    Invalid,
    NotFound,
    Quota,
    Rejected,
    Stale,
    TimedOut,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from .identity import AgentRecord, Grant, PoolRecord, PoolSettings, TokenHash
from .log_entry import EarlierVersion, Embedding, LogEntry, TurnBefore
from .memory import Evidence, Fact, Link, Memory
from .notices import Changes, ChangesReply, Notice
from .operations import OPERATIONS, Operation, json_schema
from .pools import (
    Health,
    HealthReply,
    PoolCreate,
    PoolGrant,
    PoolHealth,
    PoolInfo,
    PoolReply,
    PoolRevoke,
    Pools,
    PoolSet,
    PoolsReply,
    Retention,
)
from .read import (
    Context,
    ContextReply,
    Get,
    GetReply,
    History,
    HistoryReply,
    ListedVersion,
    ListMemories,
    ListMemoriesReply,
    VersionRecord,
)
from .reflection import (
    EndSession,
    EndSessionReply,
    ForgetOperation,
    LinkOperation,
    OperationResult,
    Reflect,
    ReflectReply,
    StoreOperation,
    UpdateOperation,
)
from .retrieve import (
    Explain,
    ExplainedItem,
    ExplainReply,
    Feedback,
    FeedbackReply,
    Retrieve,
    RetrievedItem,
    RetrieveReply,
    TimeRange,
    UsedItem,
    Where,
)
from .store import Conflict, GuardFinding, Store, StoreMany, StoreManyReply, StoreReply, StoreResult
from .trace import Signals, Trace, TracedItem, TraceReply

__all__ = [
    "OPERATIONS", "AfterwitError", "AgentRecord", "Changes", "ChangesReply", "Conflict", "Context", "ContextReply",
    "EarlierVersion",
    "Embedding", "EndSession", "EndSessionReply", "Entity", "EntityMeaning", "EntityMemory", "EntityReply", "ErrorBody",
    "ErrorReply", "Evidence", "Explain", "ExplainReply", "ExplainedItem", "Fact", "Feedback", "FeedbackReply",
    "Forbidden", "Forget", "ForgetOperation", "ForgetReply", "Get", "GetReply", "Grant", "GuardFinding", "Health",
    "HealthReply", "History", "HistoryReply", "Internal", "Invalid", "Link", "LinkEnd", "LinkOperation", "LinkReply",
    "LinkRequest", "ListMemories", "ListMemoriesReply", "ListedVersion", "LogEntry", "Memory", "NotFound", "Notice",
    "Operation", "OperationResult", "PoolCreate", "PoolGrant", "PoolHealth", "PoolInfo", "PoolRecord", "PoolReply",
    "PoolRevoke", "PoolSet", "PoolSettings", "Pools", "PoolsReply", "Quota", "Reflect", "ReflectReply", "Rejected",
    "RelatedName", "Retention", "Retrieve", "RetrieveReply", "RetrievedItem", "Share", "ShareReply", "Signals", "Stale",
    "Store", "StoreMany", "StoreManyReply", "StoreOperation", "StoreReply", "StoreResult", "TimeRange", "TimedOut",
    "TokenHash", "TooLarge", "Trace", "TraceReply", "TracedItem", "TurnBefore", "Unauthenticated", "Unavailable",
    "Update", "UpdateOperation", "UpdateReply", "UsedItem", "VersionRecord", "Where", "json_schema",
]  # fmt: skip
