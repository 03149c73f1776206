"""林, who looks after the databases. He works in Chinese."""

from __future__ import annotations

import asyncio
from typing import Any

from ..memory_tools import MemoryTools
from .board import add_to_board, read_board
from .cues import WATCHES_FOR_S, play


async def take_notes(memory: MemoryTools, cue: dict[str, Any]) -> dict[str, Any]:
    """A private note."""
    note = await memory.store("只给自己看的备忘：ledger-db 的管理员密码每月十五号轮换。", importance=0.9)
    return {"said": note["content"]}


async def watch_pool(memory: MemoryTools, cue: dict[str, Any]) -> dict[str, Any]:
    """Sleep until the pool changes, find out in Chinese what it is about, and say what he knows."""
    async with memory.client.listen(resource_subscriptions=[f"memory://{cue['pool']}"]) as events:
        print('{"watching": true}', flush=True)
        async with asyncio.timeout(WATCHES_FOR_S):
            async for _ in events:
                items = await memory.retrieve("结账服务为什么变慢？", pools=[cue["pool"]], top_k=3)
                if finding := next((i for i in items if i["memory"]["kind"] == "fact"), None):
                    return {"said": finding["memory"]["content"], "why": finding["why"], "id": finding["memory"]["id"]}
    raise RuntimeError("nothing happened")


async def explain(memory: MemoryTools, cue: dict[str, Any]) -> dict[str, Any]:
    """The lesson, linked to the finding that it explains."""
    lesson = await memory.store(
        "连接数耗尽的原因：2.8.1 版本每个请求占用两个连接，而 ledger-db 的上限是 50。"
        "解决办法是回滚到 2.8.0，不要提高上限。",
        pool=cue["pool"], kind="lesson", tier="semantic", entities=["ledger-db"], caused_by=[cue["finding"]],
    )  # fmt: skip
    return {"said": lesson["content"]}


async def update_board(memory: MemoryTools, cue: dict[str, Any]) -> dict[str, Any]:
    """His line on the board."""
    return await add_to_board(memory, cue["pool"], "09:41 林：连接数降到 12，数据库正常。")


if __name__ == "__main__":
    play({
        "take_notes": take_notes,
        "watch_pool": watch_pool,
        "explain": explain,
        "read_board": read_board,
        "update_board": update_board,
    })  # fmt: skip
