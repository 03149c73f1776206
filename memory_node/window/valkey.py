"""Windows in Valkey (or Redis): per session a hash of memories and a sorted set of their turns."""

from __future__ import annotations

import logging
import secrets
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from ...schemas import LogEntry, Memory, Unavailable, codec
from ...schemas.words import Status

logger = logging.getLogger(__name__)

IDLE_S: Final = 24 * 3600
"""A window without a write for this long is gone (design §4)."""
MAX_TURNS: Final = 512
"""Beyond this a turn's weight, exp(-0.1 · turns), is below any that could be chosen."""

GONE: Final[frozenset[Status]] = frozenset({"archived", "purged", "quarantined"})
"""What a window does not show. A superseded memory stays: what came after it was said knowing it."""

_STATE: Final = "state"
"""The field of the hash of sequences that says who is rebuilding the window, or `_COMPLETE`."""
_COMPLETE: Final = "complete"

_PREFIX: Final = "afterwit:window:"

_PUT: Final = """
-- KEYS: memories (hash id -> payload), turns (zset id -> turn), seqs (hash id -> seq, and the state)
-- ARGV: idle seconds, most turns, token of who rebuilds or '', then id, seq, turn or '', payload for each memory
local state = redis.call('HGET', KEYS[3], 'state')
if not state then return 0 end  -- nobody has read it yet, or it was lost: whoever reads it next builds it
for i = 4, #ARGV, 4 do
  local id, seq, turn, payload = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 3]
  if seq > tonumber(redis.call('HGET', KEYS[3], id) or '0') then
    if turn == '' then
      turn = redis.call('ZSCORE', KEYS[2], id)
      if not turn then
        local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
        turn = (tonumber(last[2]) or 0) + 1
      end
    end
    redis.call('HSET', KEYS[3], id, seq)
    if payload == '' then
      redis.call('HDEL', KEYS[1], id)
      redis.call('ZREM', KEYS[2], id)
    else
      redis.call('HSET', KEYS[1], id, payload)
      redis.call('ZADD', KEYS[2], turn, id)
    end
  end
end
local excess = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[2])
if excess > 0 then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[2], 0, excess - 1)) do
    redis.call('HDEL', KEYS[1], id)
    redis.call('HDEL', KEYS[3], id)
  end
  redis.call('ZREMRANGEBYRANK', KEYS[2], 0, excess - 1)
end
if ARGV[3] ~= '' and state == ARGV[3] then redis.call('HSET', KEYS[3], 'state', 'complete') end
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, ARGV[1]) end
return 1
"""


class ValkeyWindow:
    """Implements `Window`. One script writes a session atomically; a late entry cannot undo a newer one.

    A window begins when it is first read: then it is built from the index, and from that moment on kept up to date. So
    one that was lost, whole or in part, is never taken for a short one. Who builds it says so before looking into the
    index, and entries come here after they are in the index: whatever the builder does not find there, is put here.
    """

    def __init__(self, url: str, *, timeout_s: float = 2.0) -> None:
        self._redis: Redis = Redis.from_url(url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s)
        self._put = self._redis.register_script(_PUT)
        self._state = "ok"
        self._missed: set[tuple[str, str]] = set()

    @property
    def state(self) -> str:
        """``ok`` or ``away``, as the last call found it."""
        return self._state

    async def put(self, entries: Sequence[LogEntry]) -> None:
        """Bring the windows of the entries' sessions up to date."""
        sessions: dict[tuple[str, str], list[Memory]] = defaultdict(list)
        for entry in entries:
            if entry.memory.session_id is not None:
                sessions[entry.memory.author, entry.memory.session_id].append(entry.memory)
        if not sessions:
            return
        try:
            await self._drop_missed()
            for session, memories in sessions.items():
                await self._put(keys=_keys(*session), args=_arguments(memories))
        except RedisError as e:
            logger.warning("windows are not kept up to date: %s", e)
            self._state = "away"
            self._missed |= sessions.keys()
        else:
            self._state = "ok"

    async def recent(self, agent: str, session_id: str) -> list[Memory] | None:
        """The session's newest memories in the order of their turns."""
        try:
            await self._drop_missed()
            found = await self._read(_keys(agent, session_id))
        except RedisError as e:
            self._state = "away"
            raise Unavailable(f"the windows cannot be read now: {e}") from e
        self._state = "ok"
        return found

    async def rebuild(
        self, agent: str, session_id: str, read: Callable[[], Awaitable[Sequence[Memory]]]
    ) -> Sequence[Memory]:
        """Build the window from what ``read`` gives, oldest first; answers the same."""
        keys, token = _keys(agent, session_id), secrets.token_hex(8)
        try:
            await self._redis.hset(keys[2], _STATE, token)
            await self._redis.expire(keys[2], IDLE_S)
        except RedisError as e:
            self._state = "away"
            logger.warning("a window is not rebuilt: %s", e)
            return await read()
        memories = await read()
        try:
            await self._put(keys=keys, args=_arguments(memories, token))
        except RedisError as e:
            self._state = "away"
            logger.warning("a window is not rebuilt: %s", e)
        return memories

    async def clear(self) -> None:
        """Throw all windows away."""
        try:
            async for key in self._redis.scan_iter(f"{_PREFIX}*", count=1000):
                await self._redis.unlink(key)
        except RedisError as e:
            self._state = "away"
            raise Unavailable(f"the windows cannot be cleared now: {e}") from e
        self._state = "ok"

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    async def _read(self, keys: list[str]) -> list[Memory] | None:
        memories, turns, seqs = keys
        async with self._redis.pipeline(transaction=True) as both:
            # Each call only notes a command: what it gives is typed as if it were to be awaited.
            _ = both.hget(seqs, _STATE), both.zrange(turns, 0, -1), both.hgetall(memories)
            state, ids, payloads = await both.execute()
        if state != _COMPLETE.encode():
            return None
        return [codec.decode(payloads[id], Memory, codec.MSGPACK) for id in ids if id in payloads]

    async def _drop_missed(self) -> None:
        """A window that missed a write, the engine being away, is worse than none: without one it is built anew."""
        for session in tuple(self._missed):
            await self._redis.delete(*_keys(*session))
            self._missed.discard(session)


def _keys(agent: str, session_id: str) -> list[str]:
    slot = f"{_PREFIX}{{{agent}/{session_id}}}"
    return [f"{slot}:memories", f"{slot}:turns", f"{slot}:seqs"]


def _arguments(memories: Sequence[Memory], token: str = "") -> list[str | int | bytes]:
    arguments: list[str | int | bytes] = [IDLE_S, MAX_TURNS, token]
    for memory in memories:
        assert memory.seq is not None
        turn = "" if memory.turn is None else memory.turn
        payload = b"" if memory.status in GONE else codec.encode(memory, codec.MSGPACK)
        arguments += [memory.id, memory.seq, turn, payload]
    return arguments
