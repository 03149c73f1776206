"""Ending an agent's NATS connections: a running connection keeps the permissions that it was given."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg

from ...schemas import TimedOut, Unavailable
from .. import names
from ..connection import unsubscribe
from ..mailbox import NoAnswer, NobodyThere, Question, mailbox_of

_TIMEOUT_S: Final = 3.0
_ROUND_S: Final = 0.01
_PAGE: Final = 1024
_BETWEEN: Final = " "

log = logging.getLogger(__name__)

T = TypeVar("T")


class _Server(msgspec.Struct, frozen=True):
    id: str


class _Statistics(msgspec.Struct, frozen=True):
    active_servers: int = 1


class _Statsz(msgspec.Struct, frozen=True):
    server: _Server
    statsz: _Statistics


class _Connection(msgspec.Struct, frozen=True):
    cid: int
    account: str = ""
    authorized_user: str = ""

    def concerns(self, agent: str, tag: str | None, keep: Collection[str]) -> bool:
        """Whether it is ``agent``'s, marked with ``tag`` if there is one, and with nothing of ``keep``."""
        name, *tags = self.authorized_user.split(_BETWEEN)
        ours = self.account == names.AGENTS_ACCOUNT and name == agent
        return ours and (tag is None or tag in tags) and not any(mark in keep for mark in tags)


class _Connections(msgspec.Struct, frozen=True):
    total: int = 0
    connections: tuple[_Connection, ...] = ()


class _Connz(msgspec.Struct, frozen=True):
    data: _Connections


class _Kicked(msgspec.Struct, frozen=True):
    error: Any = None


@dataclass(frozen=True, slots=True)
class _Place:
    server: str
    cid: int


def user_name(agent: str, tags: Iterable[str]) -> str:
    """The user name of an agent's connection, which alone of all claims is shown in lists of connections."""
    return _BETWEEN.join((agent, *tags))


def pool_tag(pool: str) -> str:
    """Marks a connection that was let in with ``pool`` among what it may hear."""
    return f"pool:{pool}"


def token_tag(digest: str) -> str:
    """Marks a connection that was let in by the token with this SHA-256. Half of it says which, and proves nothing."""
    return f"token:{digest[:32]}"


async def disconnect(nc_sys: Client, agent: str, *, tag: str | None = None, keep: Collection[str] = ()) -> int:
    """End all NATS connections of ``agent`` on all servers, and give their number. Takes a few milliseconds.

    With a ``tag``, only those that the callout marked so (`pool_tag`, `token_tag`), and none that it marked with one of
    ``keep``. Whoever can make an agent lose something can so never cut off more than what concerns it.

    Call it after a revocation was written. A connection that was about to be let in at that moment, with what was
    true before, is waited for (up to `_TIMEOUT_S`) and ended as well; one that begins later is judged by what
    is true now. Clients come back by themselves, if they still may.

    ``nc_sys`` is a connection in `names.SYSTEM_ACCOUNT`.

    Raises:
        Unavailable, TimedOut: NATS did not answer; connections may live on, so call it again.
    """
    deadline = asyncio.get_running_loop().time() + _TIMEOUT_S
    ended = 0
    servers = await _servers(nc_sys)
    kicked: set[_Place] = set()
    doubtful: set[_Place] | None = None  # who was being let in when we first looked
    while doubtful is None or doubtful:
        undecided: set[_Place] = set()
        for server in servers:
            async for connection in _connections(nc_sys, server):
                place = _Place(server, connection.cid)
                if doubtful is not None and place not in doubtful:
                    continue
                if not connection.account:
                    undecided.add(place)
                elif connection.concerns(agent, tag, keep):
                    kicked.add(place)
        for place in kicked:
            ended += await _kick(nc_sys, place)
        kicked.clear()
        doubtful = undecided
        if doubtful:
            if asyncio.get_running_loop().time() >= deadline:
                log.warning("%d NATS connections have not said who they are for %g s", len(doubtful), _TIMEOUT_S)
                return ended
            await asyncio.sleep(_ROUND_S)
    return ended


async def _servers(nc: Client) -> set[str]:
    """The ids of all servers that answer; the first to do so knows how many there should be."""
    answers: asyncio.Queue[bytes] = asyncio.Queue()

    async def take(msg: Msg) -> None:
        answers.put_nowait(msg.data)

    inbox = nc.new_inbox()
    subscription = await nc.subscribe(inbox, cb=take)
    servers: set[str] = set()
    try:
        await nc.publish("$SYS.REQ.SERVER.PING.STATSZ", b"", reply=inbox)
        async with asyncio.timeout(_TIMEOUT_S):
            expected = 1
            while len(servers) < expected:
                answer = await answers.get()
                if not answer:  # the server's word for "nobody listens there"
                    raise _not_allowed()
                statsz = _decoded(answer, _Statsz)
                servers.add(statsz.server.id)
                expected = max(expected, statsz.statsz.active_servers)
    except TimeoutError as e:
        if not servers:
            raise TimedOut(f"no NATS server answered in {_TIMEOUT_S:g} s") from e
        log.warning("only %d NATS servers answered in %g s; the others may be away", len(servers), _TIMEOUT_S)
    finally:
        await unsubscribe(subscription)
    return servers


async def _connections(nc: Client, server: str) -> AsyncIterator[_Connection]:
    offset = 0
    while True:
        question = msgspec.json.encode({"auth": True, "limit": _PAGE, "offset": offset})
        page = (await _ask(nc, f"$SYS.REQ.SERVER.{server}.CONNZ", question, _Connz)).data
        for connection in page.connections:
            yield connection
        offset += len(page.connections)
        if not page.connections or offset >= page.total:
            return


async def _kick(nc: Client, place: _Place) -> bool:
    """Whether there still was something to end."""
    question = msgspec.json.encode({"cid": place.cid})
    return (await _ask(nc, f"$SYS.REQ.SERVER.{place.server}.KICK", question, _Kicked)).error is None


async def _ask(nc: Client, subject: str, question: bytes, type: type[T]) -> T:
    try:
        msg = await mailbox_of(nc).ask(Question(subject, question), timeout_s=_TIMEOUT_S)
    except NobodyThere as e:
        raise _not_allowed() from e
    except NoAnswer as e:
        raise TimedOut(f"NATS did not answer about connections in {_TIMEOUT_S:g} s") from e
    return _decoded(msg.data, type)


def _decoded(data: bytes, type: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=type)
    except msgspec.MsgspecError as e:
        raise Unavailable(f"NATS answered what is not understood: {e}") from e


def _not_allowed() -> Unavailable:
    return Unavailable("this connection may not ask NATS about connections: it needs the system account")
