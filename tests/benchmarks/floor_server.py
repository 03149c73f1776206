"""The far side of the floors, a process of its own as the node and the gateway are.

Over NATS: answers requests with bytes of the real answer's size, and takes what is published into a stream with a
shared pull consumer and publishes a notice for it. Over MCP: the SDK's server with a tool that does nothing, and with
one that gives the real answer without doing anything for it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any, Final

import nats
import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool
from nats.aio.msg import Msg
from nats.errors import TimeoutError as NatsTimeout
from nats.js import api
from starlette.applications import Starlette
from starlette.routing import Route

from afterwit.bus.mcp.tools import DEFINITIONS
from tests.engines.waiting import wait_until

ECHO: Final = "floor.request"
LOG: Final = "floor.log"
NOTICE: Final = "floor.notice"
PLAIN: Final = "floor.plain"
NOTICE_BYTES: Final = 400
_ANYTHING: Final = {"type": "object", "additionalProperties": True}


async def serve(nats_url: str, port: int, answer: dict[str, Any], ready_file: Path) -> None:
    """Until it is killed."""
    nc = await nats.connect(nats_url)
    js = nc.jetstream()
    for name, subject in (("FLOOR_LOG", LOG), ("FLOOR_NOTICES", NOTICE), ("FLOOR_PLAIN", PLAIN)):
        await js.add_stream(api.StreamConfig(name=name, subjects=[subject], storage=api.StorageType.FILE))
    reply = json.dumps(answer, ensure_ascii=False).encode()

    async def echo(msg: Msg) -> None:
        await msg.respond(reply)

    await nc.subscribe(ECHO, queue="floor", cb=echo)
    puller = await js.pull_subscribe(LOG, durable="floor")

    async def work() -> None:
        while True:
            try:
                for msg in await puller.fetch(1, timeout=60):
                    await js.publish(NOTICE, b"n" * NOTICE_BYTES)
                    await msg.ack()
            except NatsTimeout:
                continue

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work())
        web = uvicorn.Server(uvicorn.Config(_app(answer), port=port, http="h11", log_config=None, ws="none"))
        tasks.create_task(web.serve())
        await wait_until(lambda: web.started, description="the web server listens")
        ready_file.touch()


def _app(answer: dict[str, Any]) -> Starlette:
    tools = [
        Tool(name="nothing", input_schema=_ANYTHING),
        next(tool for tool in DEFINITIONS if tool.name == "memory_retrieve").model_copy(update={"name": "same_answer"}),
    ]
    text = json.dumps(answer, ensure_ascii=False)

    async def list_tools(*_: Any) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call_tool(_: Any, params: CallToolRequestParams) -> CallToolResult:
        if params.name == "nothing":
            return CallToolResult(content=[TextContent(type="text", text="done")])
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=answer)

    server: Server[Any] = Server("floor", on_list_tools=list_tools, on_call_tool=call_tool)
    manager = StreamableHTTPSessionManager(server, json_response=True)  # as the gateway answers
    return Starlette(routes=[Route("/mcp", endpoint=StreamableHTTPASGIApp(manager))], lifespan=lambda _: manager.run())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("nats_url")
    parser.add_argument("port", type=int)
    parser.add_argument("answer", type=Path)
    parser.add_argument("ready_file", type=Path)
    given = parser.parse_args()
    asyncio.run(serve(given.nats_url, given.port, json.loads(given.answer.read_bytes()), given.ready_file))
