"""The words of the system as types: identifiers, tiers, kinds, limits.

Patterns end in a negative look-ahead instead of ``$``: in Python ``$`` also matches before a final
line feed, and the same pattern has to mean the same in JSON Schema (ECMA 262).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

MAX_CONTENT_BYTES: Final = 64 * 1024
MAX_DATA_BYTES: Final = 256 * 1024
MAX_STORE_MANY: Final = 256
MAX_LINKS: Final = 256

_END: Final = r"(?![\s\S])"
_NAME: Final = r"[a-z0-9][a-z0-9_-]{0,62}"
_TEXT: Final = r"^(?=[\s\S]*\S)[^\u0000]+" + _END
_POOL: Final = rf"^(agent|shared)/{_NAME}" + _END
_AGENT: Final = f"^{_NAME}" + _END
_ID: Final = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}" + _END
_SESSION: Final = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}" + _END
_URI: Final = r"^memory://[\x21-\x7e]{1,512}" + _END

MEANING_OF_PATTERN: Final = {
    _TEXT: "must hold at least one character that is not white space, and no NUL",
    _POOL: "must be agent/<name> or shared/<name>, the name being 1 to 63 of a-z, 0-9, _ and -, "
    "and not beginning with _ or -",
    _AGENT: "must be 1 to 63 of a-z, 0-9, _ and -, and not begin with _ or -",
    _ID: "must be a memory id: a UUID in lower case with hyphens",
    _SESSION: "must be 1 to 128 ASCII letters, digits, '.', '_', ':' and '-', and begin with a letter or digit",
    _URI: "must be a memory:// URI",
}
"""What to tell a person whose value does not match one of our patterns."""

AgentName = Annotated[str, Meta(pattern=_AGENT, description="An agent's name.")]
PoolName = Annotated[str, Meta(pattern=_POOL, description="agent/<id> (private) or shared/<name>.")]
MemoryId = Annotated[str, Meta(pattern=_ID, description="A memory's id (UUID).")]
MemoryUri = Annotated[str, Meta(pattern=_URI, description="memory://<kind>/<pool>/<id>.")]
SessionId = Annotated[str, Meta(pattern=_SESSION, description="One task of one agent.")]
Text = Annotated[str, Meta(pattern=_TEXT, extra_json_schema={"maxLength": MAX_CONTENT_BYTES})]
Label = Annotated[str, Meta(pattern=_TEXT, max_length=200)]
Labels = Annotated[tuple[Label, ...], Meta(max_length=64)]
Ids = Annotated[tuple[MemoryId, ...], Meta(max_length=MAX_LINKS)]
IdempotencyKey = Annotated[str, Meta(pattern=_TEXT, max_length=512)]
Unit = Annotated[float, Meta(ge=0.0, le=1.0)]
Budget = Annotated[int, Meta(ge=1, le=1_000_000, description="Tokens.")]
Turn = Annotated[int, Meta(ge=0, le=2**53)]
Version = Annotated[int, Meta(ge=1, le=2**53)]
Seq = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Time = Annotated[datetime, Meta(tz=True)]
Json = Any

Tier = Literal["working", "episodic", "semantic"]
Kind = Literal[
    "user_input", "tool_call", "tool_result", "agent_thought", "final_answer",
    "episode", "summary",
    "fact", "preference", "lesson", "procedure",
    "note",
]  # fmt: skip
Source = Literal["agent", "user", "tool"]
Status = Literal["active", "candidate", "disputed", "superseded", "archived", "quarantined", "purged"]
Rel = Literal["caused_by", "related_to", "supersedes", "derived_from", "contradicts", "supports"]
Role = Literal["reader", "writer", "owner"]
Change = Literal["created", "updated", "superseded", "archived", "restored", "disputed", "purged"]
Ack = Literal["visible", "accepted"]

EVENT_KINDS: Final[frozenset[Kind]] = frozenset(
    {"user_input", "tool_call", "tool_result", "agent_thought", "final_answer"}
)
TIERS: Final[tuple[Tier, ...]] = ("working", "episodic", "semantic")
HIDDEN: Final[frozenset[Status]] = frozenset({"archived", "superseded", "quarantined", "purged"})
"""Statuses that retrieval leaves out unless ``include_archived`` is set (purged never comes back)."""

TRUST_OF_SOURCE: Final[dict[Source, float]] = {"tool": 0.8, "user": 0.6, "agent": 0.4}
"""Where trust starts (design §8); a memory's trust is at most the least of its lineage."""
