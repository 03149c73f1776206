"""`store`, `retrieve`, `trace`, `history`, `forget`: single memories from the command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ...schemas import Invalid
from .options import asynchronous, client_options
from .output import Output

if TYPE_CHECKING:
    from ..client import Target

_TIERS = click.Choice(["working", "episodic", "semantic"])


@click.command()
@click.argument("text")
@click.option("--pool", metavar="POOL", help="agent/<you> or shared/<name>; left out: your private pool.")
@click.option("--tier", type=_TIERS)
@click.option("--kind", help="note, fact, preference, lesson, procedure, user_input, tool_result, …")
@click.option("--tag", "tags", multiple=True, help="Repeatable.")
@click.option("--entity", "entities", multiple=True, help="Who or what it is about. Repeatable.")
@click.option("--session", "session_id", help="Session that it belongs to.")
@click.option("--source", type=click.Choice(["agent", "user", "tool"]))
@click.option("--importance", type=click.FloatRange(0, 1))
@click.option("--occurred-at", metavar="TIME", help="When it happened: RFC 3339 with offset.")
@click.option("--data", metavar="JSON", help="Any JSON that belongs to it.")
@click.option("--key", "idempotency_key", help="Storing twice with one key makes one memory.")
@click.option("--ack", type=click.Choice(["visible", "accepted"]))
@asynchronous
@client_options
async def store(output: Output, target: Target, text: str, data: str | None, **fields: Any) -> None:
    """Store TEXT as one memory; - reads it from standard input."""
    from rich.markup import escape

    from ...schemas import Store, StoreReply
    from ...schemas.codec import convert
    from ..client import bus_client

    content = sys.stdin.read() if text == "-" else text
    given = {name: value for name, value in fields.items() if value not in (None, ())}
    request = convert({"content": content, "data": _json(data), **given}, Store)
    async with bus_client(target) as bus:
        reply = await bus.call("store", request, StoreReply)
    done = "Stored" if reply.created else "Known already"
    notes = [f"[yellow]{c.kind}[/] with {c.id}: {escape(c.why)}" for c in reply.conflicts]
    notes += [f"[yellow]guard[/]: {g.kind} in {g.field} was {g.action}" for g in reply.guard]
    output.result(reply, f"{done} in {reply.memory.pool}: {reply.memory.id}", *notes)


@click.command()
@click.argument("query")
@click.option("--pool", "pools", multiple=True, metavar="POOL", help="Look only here. Repeatable.")
@click.option("--tier", type=_TIERS)
@click.option("--kind")
@click.option("--tag", "tags", multiple=True, help="Repeatable; all must be set.")
@click.option("--entity", "entities", multiple=True, help="Repeatable; all must be named.")
@click.option("--session", "session_id")
@click.option("--top", "top_k", type=click.IntRange(1, 50), default=5, show_default=True, help="How many.")
@click.option("--profile", help="How to score.")
@click.option("--archived", "include_archived", is_flag=True, help="Archived ones too.")
@click.option("--hops", type=click.IntRange(0, 2), help="Follow links and shared names so many steps.")
@click.option("--now", metavar="TIME", help='What "last week" is relative to.')
@click.option("--time-zone", metavar="NAME", help='Whose "yesterday" is meant, such as Asia/Shanghai.')
@click.option("--only-then", is_flag=True, help="Of a time that QUERY names, nothing else.")
@asynchronous
@client_options
async def retrieve(output: Output, target: Target, query: str, **fields: Any) -> None:
    """Find the memories that answer QUERY."""
    from ...schemas import Retrieve, RetrieveReply
    from ...schemas.codec import convert
    from ..client import bus_client
    from .tables import found

    given = {name: value for name, value in fields.items() if value not in (None, ())}
    request = convert({"query": query, **given}, Retrieve)
    async with bus_client(target) as bus:
        reply = await bus.call("retrieve", request, RetrieveReply)
    output.result(reply, *found(reply))


@click.command()
@click.argument("id", required=False)
@click.option("--session", "session_id", help="Start from its latest event instead of ID.")
@click.option("--effects", is_flag=True, help="Forward to what came of it, not back to its causes.")
@click.option("--depth", "max_depth", type=click.IntRange(1, 100), help="Steps from the start.")
@click.option("--top", "top_k", type=click.IntRange(1, 100), default=20, show_default=True, help="How many.")
@asynchronous
@client_options
async def trace(output: Output, target: Target, effects: bool, **fields: Any) -> None:
    """Why did it happen? Follow the causes of the event ID back to where they begin."""
    from ...schemas import Trace, TraceReply
    from ...schemas.codec import convert
    from ..client import bus_client
    from .tables import chain

    given = {name: value for name, value in fields.items() if value is not None}
    request = convert({"direction": "effects" if effects else "causes", **given}, Trace)
    async with bus_client(target) as bus:
        reply = await bus.call("trace", request, TraceReply)
    output.result(reply, chain(reply) if reply.items else "Nothing led to it that is known here.")


@click.command()
@click.argument("id")
@asynchronous
@client_options
async def history(output: Output, target: Target, id: str) -> None:
    """Every version of the memory ID: who changed what, and when."""
    import msgspec

    from ...schemas import History, HistoryReply
    from ...schemas.codec import convert
    from ..client import bus_client
    from .tables import versions

    request = convert({"id": id}, History)
    async with bus_client(target) as bus:
        reply = await bus.call("history", request, HistoryReply)
        while reply.cursor is not None:
            request = msgspec.structs.replace(request, cursor=reply.cursor)
            page = await bus.call("history", request, HistoryReply)
            reply = msgspec.structs.replace(page, versions=reply.versions + page.versions)
    output.result(reply, versions(reply))


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--reason", required=True, help="Why; it stands in the history.")
@click.option("--cascade", is_flag=True, help="What was copied or derived from them as well.")
@click.option("--purge", is_flag=True, help="Erase for good instead of archiving.")
@asynchronous
@client_options
async def forget(output: Output, target: Target, ids: tuple[str, ...], **fields: Any) -> None:
    """Archive memories: hidden from retrieval, kept for audit."""
    from ...schemas import Forget, ForgetReply
    from ...schemas.codec import convert
    from ..client import bus_client

    request = convert({"ids": ids, **fields}, Forget)
    async with bus_client(target) as bus:
        reply = await bus.call("forget", request, ForgetReply)
    left = (
        f"; {len(reply.remaining)} copied or derived from them stay: {', '.join(reply.remaining)}"
        if reply.remaining
        else ""
    )
    output.result(reply, f"{'Purged' if fields['purge'] else 'Archived'}: {reply.count}{left}")


def _json(text: str | None) -> Any:
    if text is None:
        return None
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as e:
        raise Invalid(f"data: not JSON: {e}", field="data") from e
