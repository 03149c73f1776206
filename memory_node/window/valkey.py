"""Windows in Valkey (or Redis): per session a hash of memories and a sorted set of their turns."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
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

_PUT: Final = """
-- KEYS: memories (hash id -> payload), turns (zset id -> turn), seqs (hash id -> seq)
-- ARGV: idle seconds, most turns, then id, seq, turn or '', payload for each memory
for i = 3, #ARGV, 4 do
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
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, ARGV[1]) end
return redis.status_reply('OK')
"""


class ValkeyWindow:
    """Implements `Window`. One script writes a session atomically; a late entry cannot undo a newer one."""

    def __init__(self, url: str, *, timeout_s: float = 2.0) -> None:
        self._redis: Redis = Redis.from_url(url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s)
        self._put = self._redis.register_script(_PUT)
        self._state = "ok"

    @property
    def state(self) -> str:
        """``ok`` or ``away``, as the last call found it."""
        return self._state

    async def put(self, entries: Sequence[LogEntry]) -> None:
        """Bring the windows of the entries' sessions up to date."""
        sessions: dict[tuple[str, str], list[LogEntry]] = defaultdict(list)
        for entry in entries:
            if entry.memory.session_id is not None:
                sessions[entry.memory.author, entry.memory.session_id].append(entry)
        try:
            for (agent, session_id), its in sessions.items():
                await self._put(keys=_keys(agent, session_id), args=_arguments(its))
                self._state = "ok"
        except RedisError as e:
            self._state = "away"
            logger.warning("windows are not kept up to date: %s", e)
            await self._forget(sessions)

    async def recent(self, agent: str, session_id: str) -> list[Memory] | None:
        """The session's newest memories in the order of their turns."""
        memories, turns, _ = _keys(agent, session_id)
        try:
            ids: list[bytes] = await self._redis.zrange(turns, 0, -1)  # type: ignore[assignment]  # without scores
            payloads: list[bytes | None] = await self._redis.hmget(memories, ids) if ids else []  # type: ignore[assignment]
        except RedisError as e:
            self._state = "away"
            raise Unavailable(f"the windows cannot be read now: {e}") from e
        self._state = "ok"
        return [codec.decode(p, Memory, codec.MSGPACK) for p in payloads if p is not None] or None

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    async def _forget(self, sessions: Sequence[tuple[str, str]] | dict[tuple[str, str], list[LogEntry]]) -> None:
        """A window that missed a write is worse than none: without one, the next reader rebuilds it."""
        for agent, session_id in sessions:
            try:
                await self._redis.delete(*_keys(agent, session_id))
            except RedisError:
                return  # away still; a server that comes back empty has no window either


def _keys(agent: str, session_id: str) -> list[str]:
    slot = f"afterwit:window:{{{agent}/{session_id}}}"
    return [f"{slot}:memories", f"{slot}:turns", f"{slot}:seqs"]


def _arguments(entries: Sequence[LogEntry]) -> list[str | int | bytes]:
    arguments: list[str | int | bytes] = [IDLE_S, MAX_TURNS]
    for entry in entries:
        memory = entry.memory
        assert memory.seq is not None
        gone = memory.status in GONE
        turn = "" if memory.turn is None else memory.turn
        arguments += [memory.id, memory.seq, turn, b"" if gone else codec.encode(memory, codec.MSGPACK)]
    return arguments
