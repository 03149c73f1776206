"""Agents: who exists, and with which tokens they prove it."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from nats.aio.client import Client

from ...schemas import AgentRecord, Invalid, NotFound, TokenHash, Unavailable
from ...schemas.codec import convert, decode, encode
from ...schemas.words import AgentName
from .. import names
from . import tokens
from ._bucket import Bucket, Entry, LostRaceError

RESERVED: Final = frozenset({"admin", "afterwit", "callout", "gateway", "node", "reflection", "sys"})
"""Names that no agent may have: those of the parts, and the authors that the bus itself writes under."""

GRACE_S: Final = 24 * 3600.0
"""How long the old token lives on after `Agents.rotate`, so that its holder can be given the new one in between."""

_ATTEMPTS: Final = 16


class _Named(msgspec.Struct):
    name: AgentName


@dataclass(frozen=True, slots=True)
class Proof:
    """Whose token it was, its `tokens.digest`, and when it ends (None: when it is rotated or revoked)."""

    agent: str
    expires_at: datetime | None
    digest: str


class Agents:
    """The register of agents in the key-value bucket `names.AGENTS`, one record per agent.

    Nothing is cached: each question is one read (about 0.2 ms), so that an answer is never older than the
    question; with ``replicas`` the leader alone is asked. Each change is a compare-and-set.

    All methods raise `Unavailable` or `TimedOut` on engine trouble.
    """

    def __init__(
        self, nc: Client, *, replicas: int = 1, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._bucket = Bucket(nc, names.AGENTS, leader=replicas > 1)
        self._now = now

    async def add(self, name: str) -> str:
        """Make an agent, and give its token: here it is seen for the only time.

        Raises:
            Invalid: it is no name, a reserved one, or one that is or was in use. A revoked agent's name stays
                taken, because its memories stay its own.
        """
        convert({"name": name}, _Named)
        if name in RESERVED:
            raise Invalid(f"name: {name!r} is reserved for a part of Afterwit; choose another", field="name")
        token = tokens.new_token(name)
        now = self._now()
        record = AgentRecord(name=name, tokens=(_hash_of(token, now),), created_at=now)
        try:
            await self._bucket.put(name, encode(record), expected=0)
        except LostRaceError as e:
            there = await self.get(name)
            why = "exists; for a new token, rotate"
            if there is not None and there.revoked_at is not None:
                why = "was revoked, for good; choose another name"
            raise Invalid(f"name: the agent {name!r} {why}", field="name") from e
        return token

    async def get(self, name: str) -> AgentRecord | None:
        """The record of an agent, revoked or not; None if there is none."""
        entry = await self._entry(name)
        return None if entry is None else _record(entry)

    async def list(self) -> list[AgentRecord]:
        """All agents by name, revoked ones too."""
        entries = await self._bucket.matching("*")
        return [_record(entries[name]) for name in sorted(entries) if entries[name].value is not None]

    async def rotate(self, name: str, grace_s: float = GRACE_S) -> str:
        """Give the agent a new token. The one before it ends in ``grace_s`` seconds, any older one now.

        Raises:
            NotFound: no such agent.
            Invalid: it was revoked.
        """
        token = tokens.new_token(name)

        def rotated(record: AgentRecord, now: datetime) -> AgentRecord:
            if record.revoked_at is not None:
                raise Invalid(f"name: the agent {name!r} was revoked, for good; add another agent", field="name")
            end = now + timedelta(seconds=grace_s)
            latest = record.tokens[-1:]
            kept = (msgspec.structs.replace(old, expires_at=min(old.expires_at or end, end)) for old in latest)
            live = tuple(old for old in kept if not _passed(old.expires_at, now))
            return msgspec.structs.replace(record, tokens=(*live, _hash_of(token, now)))

        await self._change(name, rotated)
        return token

    async def revoke(self, name: str) -> None:
        """From now on the agent is nobody. It is final; revoking again changes nothing.

        Its connections are not ended by this: see `connections.disconnect`.

        Raises:
            NotFound: no such agent.
        """

        def revoked(record: AgentRecord, now: datetime) -> AgentRecord:
            return msgspec.structs.replace(record, tokens=(), revoked_at=record.revoked_at or now)

        await self._change(name, revoked)

    async def verify(self, token: str) -> str | None:
        """The agent whose token it is; None if it is nobody's, or no longer."""
        proof = await self.prove(token)
        return None if proof is None else proof.agent

    async def prove(self, token: str) -> Proof | None:
        """Like `verify`, and when the token ends."""
        name = tokens.agent_of(token)
        record = None if name is None else await self.get(name)
        if record is None or record.revoked_at is not None:
            return None
        now, given = self._now(), tokens.digest(token)
        # All are compared, each in constant time: how long it took says nothing about which was near.
        same = [known for known in record.tokens if hmac.compare_digest(known.sha256, given)]
        valid = [known for known in same if not _passed(known.expires_at, now)]
        return Proof(record.name, valid[0].expires_at, given) if valid else None

    async def live_tokens(self, name: str) -> frozenset[str]:
        """The digests of the tokens that are good now; none if there is no such agent, or it was revoked."""
        record = await self.get(name)
        if record is None or record.revoked_at is not None:
            return frozenset()
        now = self._now()
        return frozenset(token.sha256 for token in record.tokens if not _passed(token.expires_at, now))

    async def _entry(self, name: str) -> Entry | None:
        entry = await self._bucket.get(name)
        return None if entry is None or entry.value is None else entry

    async def _change(self, name: str, change: Callable[[AgentRecord, datetime], AgentRecord]) -> None:
        convert({"name": name}, _Named)
        for _ in range(_ATTEMPTS):
            entry = await self._entry(name)
            if entry is None:
                raise NotFound(f"there is no agent {name!r}; see `afterwit agent list`")
            after = change(_record(entry), self._now())
            try:
                await self._bucket.put(name, encode(after), expected=entry.revision)
            except LostRaceError:
                continue
            return
        raise Unavailable(f"the agent {name!r} is being changed by too many at once; try again")


def _hash_of(token: str, now: datetime) -> TokenHash:
    return TokenHash(sha256=tokens.digest(token), created_at=now)


def _record(entry: Entry) -> AgentRecord:
    assert entry.value is not None
    return decode(entry.value, AgentRecord)


def _passed(end: datetime | None, now: datetime) -> bool:
    return end is not None and end <= now
