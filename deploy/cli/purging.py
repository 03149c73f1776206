"""`purge`: erase memories for good, and prove that their text is nowhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from .options import asynchronous, data_dir_option
from .output import Output

if TYPE_CHECKING:
    from ...schemas import ForgetReply, Memory
    from ..client import BusClient
    from ..data_dir import DataDir

_WITHIN_S: Final = 600.0
_SAYS_SOMETHING: Final = 8
"""Characters. Shorter strings in a memory's data stand in many places by chance."""


class FoundTrace(msgspec.Struct, frozen=True, kw_only=True):
    """A place in a file at which a piece of a text stands."""

    file: str
    offset: int
    form: str


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What a search of the data directory found; ``texts`` were looked for."""

    data_dir: str
    texts: int
    found: tuple[FoundTrace, ...]


class Purged(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was purged, and, if asked for, the proof."""

    purged: ForgetReply | None = None
    verified: Verified | None = None


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--reason", help="Why; it stands in the tombstone. Needed with IDs.")
@click.option("--cascade", is_flag=True, help="What was copied or derived from them as well.")
@click.option("--verify", is_flag=True, help="Search every file of the data directory for what they held.")
@click.option(
    "--text", "texts", multiple=True, help="With --verify: look for this too; - reads it from standard input."
)
@click.option("--server", metavar="URL", help="NATS URL of the bus.  [AFTERWIT_URL]")
@click.option("--token", metavar="TOKEN", help="The agent's token.  [AFTERWIT_TOKEN]")
@click.option("--agent", metavar="NAME", help="An agent made by `up --agent` here.  [AFTERWIT_AGENT]")
@asynchronous
@data_dir_option
async def purge(  # noqa: PLR0913, PLR0917  # its options
    output: Output,
    data_dir: DataDir,
    ids: tuple[str, ...],
    reason: str | None,
    cascade: bool,
    verify: bool,
    texts: tuple[str, ...],
    **target: str | None,
) -> None:
    """Erase the memories IDs for good: content, earlier versions, and every byte of them on this machine's disk.

    With --verify the data directory is searched for what they held, in all forms in which it could stand there, long
    texts also in pieces; what is found is listed, and makes the exit status 1. Without IDs, --verify --text looks for
    a text that was purged before.
    """
    if not ids and not (verify and texts):
        raise click.UsageError("give the IDs to purge, or --verify with --text")
    if ids and not reason:
        raise click.UsageError("--reason is needed")
    wanted = [sys.stdin.read().rstrip("\n") if text == "-" else text for text in texts]
    if not all(map(str.strip, wanted)):  # "no trace" of nothing would be read as a proof
        raise click.UsageError("--text is empty: give the text to look for")
    reply = None
    if ids:
        from ..client import Target, bus_client

        found = Target.find(data_dir, os.environ, server=target["server"], token=target["token"], agent=target["agent"])
        async with bus_client(found) as bus:
            if verify:
                wanted += await _texts(bus, ids)
            reply = await _purge(bus, ids, reason, cascade)
    result = Purged(purged=reply, verified=_verified(data_dir, wanted) if verify else None)
    output.result(result, *_told(result))
    if result.verified and result.verified.found:
        sys.exit(1)


async def _purge(bus: BusClient, ids: tuple[str, ...], reason: str | None, cascade: bool) -> ForgetReply:
    from ...schemas import Forget, ForgetReply, TimedOut
    from ...schemas.codec import convert

    request = convert({"ids": ids, "reason": reason, "purge": True, "cascade": cascade}, Forget)
    purged: tuple[str, ...] = ()
    deadline = time.monotonic() + _WITHIN_S
    while True:
        try:
            reply = await bus.call("forget", request, ForgetReply)
        except TimedOut as e:  # they are purged, and being erased: asking again waits for the end
            if time.monotonic() > deadline:
                raise
            purged += tuple(e.detail.get("purged", ()))
            continue
        purged += reply.ids
        return ForgetReply(count=len(purged), ids=purged, remaining=reply.remaining)


async def _texts(bus: BusClient, ids: Iterable[str]) -> list[str]:
    """What all versions of the memories hold."""
    from ...schemas import Get, GetReply
    from ...schemas.codec import convert

    texts: dict[str, None] = {}
    for id in ids:
        latest = (await bus.call("get", convert({"id": id}, Get), GetReply)).memory
        for version in range(1, latest.version + 1 if latest.status != "purged" else 1):
            memory = (await bus.call("get", Get(id=id, version=version), GetReply)).memory
            texts |= dict.fromkeys(_held(memory))
    return list(texts)


def _held(memory: Memory) -> Iterator[str]:
    yield memory.content
    yield from (text for text in _strings(memory.data) if len(text) >= _SAYS_SOMETHING)


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, each in value.items():
                yield from (str(key), *_strings(each))
        case list() | tuple():
            for each in value:
                yield from _strings(each)


def _verified(data_dir: DataDir, texts: Iterable[str]) -> Verified:
    from ...memory_node.traces import traces
    from ...schemas import NotFound

    wanted = [text for text in dict.fromkeys(texts) if text.strip()]  # of a purged memory the content is empty
    if not data_dir.path.is_dir():
        raise NotFound(f"there is no data directory {data_dir.path}: run this where the bus runs, with its --data-dir")
    found = [
        FoundTrace(file=str(trace.file.relative_to(data_dir.path)), offset=trace.offset, form=trace.form)
        for text in wanted
        for trace in traces(data_dir.path, text)
    ]
    return Verified(data_dir=str(data_dir.path), texts=len(wanted), found=tuple(found))


def _told(result: Purged) -> list[str]:
    from rich.markup import escape

    told = []
    if reply := result.purged:
        told.append(f"Purged: {reply.count}")
        if reply.remaining:
            told.append(f"{len(reply.remaining)} copied or derived from them stay: {', '.join(reply.remaining)}")
    if verified := result.verified:
        directory = escape(verified.data_dir)
        if verified.found:
            told.append(f"[bold red]{len(verified.found)} traces[/] of {verified.texts} texts in {directory}:")
            told += [f"  {escape(trace.file)}, byte {trace.offset} ({trace.form})" for trace in verified.found]
        else:
            told.append(f"No trace of {verified.texts} texts in any file of {directory}.")
    return told
