"""The registry of shared pools: which there are, and who may do what in them.

A private pool (``agent/<id>``) is not in it: it is its agent's, always, and nobody else's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from nats.aio.client import Client

from ...schemas import Forbidden, Grant, Invalid, NotFound, PoolRecord, PoolSettings, Retention, Unavailable
from ...schemas.codec import decode, encode
from ...schemas.words import Role
from .. import names
from ._bucket import MARKER_KEPT, Bucket, Entry, LostRaceError

_ATTEMPTS: Final = 32
_KNOWN: Final = 256
"""Agents whose grants are kept."""
_UNCHANGED_FOR: Final = MARKER_KEPT / 2
"""For so long after it was last looked for, a deletion made since is sure to have its marker still."""


class _Known(NamedTuple):
    """The grants of an agent as of ``revision``, the last one at ``seen_at``."""

    revision: int
    seen_at: datetime
    grants: dict[str, Grant]


class PoolRegistry:
    """Pools and grants in the key-value bucket `names.POOLS`: one key per pool, one per grant.

    Each question is a read (about 0.3 ms), so that what was revoked is gone at once; with ``replicas`` the leader alone
    is asked. The grants of one agent, which may be hundreds, are kept for as long as the registry says, each time, that
    nothing was written to them since; who was away for so long that a deletion's marker may have come and gone reads
    them anew. A change of a grant is a compare-and-set over *all* grants of its pool, so
    that of two owners who revoke each other one loses and looks again. A grant whose ``until`` has passed is as good
    as none everywhere.

    A pool is a pool by having grants; its record only describes it. So `create` writes the first grant first: whoever
    gets that in has the name, and if the process dies before the record is written, the pool works all the same and the
    same owner's next `create` adds the record.

    All methods raise `Unavailable` or `TimedOut` on engine trouble.
    """

    def __init__(
        self, nc: Client, *, replicas: int = 1, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._bucket = Bucket(nc, names.POOLS, leader=replicas > 1)
        self._now = now
        self._known: dict[str, _Known] = {}

    async def create(self, pool: str, description: str, by: str) -> None:
        """Make a shared pool whose owner is ``by``.

        Raises:
            Invalid: a private pool, or the name is taken. A name can therefore be guessed; nothing else of the
                pool can be learnt that way.
        """
        _only_shared(pool)
        now = self._now()
        grant = Grant(role="owner", granted_by=by, at=now)
        try:
            await self._bucket.put(
                names.grant_key(pool, by), encode(grant), expected=0, over=names.grants_in_pool(pool)
            )
        except LostRaceError as e:
            if not await self._left_unfinished(pool, by):
                raise Invalid(f"pool: the name {pool!r} is taken; choose another", field="pool") from e
        record = PoolRecord(description=description, created_by=by, created_at=now)
        try:
            await self._bucket.put(names.pool_key(pool), encode(record), expected=0)
        except LostRaceError as e:
            # The same owner made it twice at once, and the other call finished first.
            raise Invalid(f"pool: the name {pool!r} is taken; choose another", field="pool") from e

    async def get(self, pool: str) -> PoolRecord | None:
        """What is said of a shared pool. None if there is none, or if its making was cut short."""
        entry = await self._bucket.get(names.pool_key(pool))
        return None if entry is None or entry.value is None else decode(entry.value, PoolRecord)

    async def settings_of(self, pool: str) -> PoolSettings | None:
        """How a pool, shared or private, is kept; None if nobody ever said."""
        entry = await self._bucket.get(names.settings_key(pool))
        return None if entry is None or entry.value is None else decode(entry.value, PoolSettings)

    async def set(self, pool: str, retention_days: Retention, by: str) -> None:
        """Say how a pool is kept. Whether ``by`` may say so is the caller's to check. The last word holds."""
        said = encode(PoolSettings(retention_days=retention_days, set_by=by, at=self._now()))
        key = names.settings_key(pool)
        for _ in range(_ATTEMPTS):
            entry = await self._bucket.get(key)
            try:
                await self._bucket.put(key, said, expected=entry.revision if entry else 0)
            except LostRaceError:
                continue
            return
        raise Unavailable(f"how {pool} is kept is being changed by too many at once; try again")

    async def list(self) -> dict[str, PoolRecord]:
        """All shared pools, for operators."""
        entries = await self._bucket.matching(names.POOL_KEYS)
        stored = {key: entry.value for key, entry in entries.items() if entry.value is not None}
        return {names.parse_pool_key(key): decode(value, PoolRecord) for key, value in stored.items()}

    async def grant(self, pool: str, agent: str, role: Role, until: datetime | None, by: str) -> None:
        """Give ``agent`` a role, instead of the one that it may have.

        Whether there is such an agent is the caller's to check.

        Raises:
            NotFound: no such pool, or ``by`` has no grant in it: both read the same.
            Forbidden: ``by`` is not an owner, or the pool would be left without an owner for good.
        """

        def check(grants: Mapping[str, Grant]) -> None:
            _only_owners(pool, grants, by)
            if role != "owner" or until is not None:
                _keep_an_owner(pool, grants, agent)

        given = encode(Grant(role=role, until=until, granted_by=by, at=self._now()))
        await self._change(pool, agent, given, check)

    async def revoke(self, pool: str, agent: str, *, by: str | None = None) -> None:
        """Take the role of ``agent`` away; nothing happens if it has none.

        ``by`` must be an owner, or ``agent`` itself, which leaves; None is the operator of the bus.
        Running connections are not ended by this: see `connections.disconnect`.

        Raises:
            NotFound: no such pool, or ``by`` has no grant in it: both read the same.
            Forbidden: ``by`` is not an owner, or the pool would be left without an owner for good.
        """

        def check(grants: Mapping[str, Grant]) -> None:
            if by is not None and by != agent:
                _only_owners(pool, grants, by)
            _keep_an_owner(pool, grants, agent)

        await self._change(pool, agent, None, check)

    async def grants_of(self, agent: str) -> dict[str, Grant]:
        """The grants of one agent by shared pool."""
        of_agent = names.grants_of_agent(agent)
        now, known = self._now(), self._known.get(agent)
        if (
            known is None
            or abs(now - known.seen_at) > _UNCHANGED_FOR
            or known.revision != await self._bucket.newest(of_agent)
        ):
            entries = await self._bucket.matching(of_agent)
            revision = max((entry.revision for entry in entries.values()), default=0)
            grants = {names.parse_grant_key(key)[0]: grant for key, grant in _given(entries).items()}
        else:
            revision, grants = known.revision, known.grants
        self._known.pop(agent, None)
        while len(self._known) >= _KNOWN:
            del self._known[next(iter(self._known))]  # who has not asked for the longest time
        self._known[agent] = _Known(revision, now, grants)
        return self._in_force(grants)

    async def grants_in(self, pool: str) -> dict[str, Grant]:
        """The grants in one pool by agent."""
        if not _is_shared(pool):
            return {}
        return _by_agent(self._in_force(_given(await self._bucket.matching(names.grants_in_pool(pool)))))

    async def grant_of(self, pool: str, agent: str) -> Grant | None:
        """The grant of one agent in one shared pool."""
        if not _is_shared(pool):
            return None
        entry = await self._bucket.get(names.grant_key(pool, agent))
        return None if entry is None else self._in_force(_given({entry.key: entry})).get(entry.key)

    async def _change(
        self, pool: str, agent: str, given: bytes | None, check: Callable[[Mapping[str, Grant]], None]
    ) -> None:
        """Write (or, with None, delete) a grant if ``check`` agrees with the pool's grants at that moment."""
        if not _is_shared(pool):
            raise _no_such_pool(pool)
        key, over = names.grant_key(pool, agent), names.grants_in_pool(pool)
        for _ in range(_ATTEMPTS):
            entries = await self._bucket.matching(over)
            check(_by_agent(self._in_force(_given(entries))))
            seen = max((entry.revision for entry in entries.values()), default=0)
            try:
                if given is not None:
                    await self._bucket.put(key, given, expected=seen, over=over)
                elif key in entries and entries[key].value is not None:
                    await self._bucket.delete(key, expected=seen, over=over)
            except LostRaceError:
                continue
            return
        raise Unavailable(f"the grants of {pool} are being changed by too many at once; try again")

    async def _left_unfinished(self, pool: str, by: str) -> bool:
        grants = await self.grants_in(pool)
        return by in grants and grants[by].role == "owner" and await self.get(pool) is None

    def _in_force(self, grants: Mapping[str, Grant]) -> dict[str, Grant]:
        now = self._now()
        return {key: grant for key, grant in grants.items() if grant.until is None or grant.until > now}


def _given(entries: Mapping[str, Entry]) -> dict[str, Grant]:
    """What stands in ``entries``, in force or not."""
    return {key: decode(entry.value, Grant) for key, entry in entries.items() if entry.value is not None}


def _by_agent(grants: Mapping[str, Grant]) -> dict[str, Grant]:
    return {names.parse_grant_key(key)[1]: grant for key, grant in grants.items()}


def _is_shared(pool: str) -> bool:
    return pool.startswith("shared/")


def _only_shared(pool: str) -> None:
    if not _is_shared(pool):
        raise Invalid(f"pool: {pool!r} is private: it is there already, for its agent alone", field="pool")


def _no_such_pool(pool: str) -> NotFound:
    return NotFound(f"there is no pool {pool!r} that you may read", pool=pool)


def _only_owners(pool: str, grants: Mapping[str, Grant], by: str) -> None:
    if by not in grants:
        raise _no_such_pool(pool)
    if grants[by].role != "owner":
        raise Forbidden(f"you are a {grants[by].role} of {pool}, and this needs an owner: ask one", pool=pool)


def _keep_an_owner(pool: str, grants: Mapping[str, Grant], agent: str) -> None:
    """Owners until some day do not count: once they lapse, nobody could let anybody in any more."""
    lasting = {name for name, grant in grants.items() if grant.role == "owner" and grant.until is None}
    if lasting == {agent}:
        raise Forbidden(
            f"{agent} is the last owner of {pool}: make another agent its owner, without until, before", pool=pool
        )
