"""The play, act by act, with what must have come of each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from .stage import Actor

POOL: Final = "shared/incident-4711"


@dataclass(frozen=True, slots=True)
class Cast:
    """The actors."""

    mira: Actor
    lin: Actor
    otto: Actor


@dataclass(slots=True)
class Account:
    """What happened, for people, and what did not hold."""

    tell: Callable[[str, str, float | None], None]
    failures: list[str] = field(default_factory=list)

    def says(self, who: str, text: str, took_ms: float | None = None) -> None:
        """One line of the account."""
        self.tell(who, text, took_ms)

    def check(self, holds: bool, what: str) -> None:
        """Note whether a promise held."""
        self.tell("ok" if holds else "FAILED", what, None)
        if not holds:
            self.failures.append(what)


Act = Callable[[Cast, Account, dict[str, Any]], Awaitable[None]]


async def private_notes(cast: Cast, account: Account, seen: dict[str, Any]) -> None:
    """Everybody keeps a note that is nobody else's."""
    for actor in (cast.mira, cast.lin):
        answer = await actor.act("take_notes")
        account.says(actor.name, answer["said"], answer["took_ms"])
        if actor is cast.mira:
            account.check(answer["turns"] == [1, 2, 3], "the session's window holds its three turns in order")
            account.check(answer["cause"] == [1.0], "the tool's result is linked to the call that caused it")


async def a_finding(cast: Cast, account: Account, seen: dict[str, Any]) -> None:
    """Mira tells the pool in English; Lin is woken by the notice, asks in Chinese and finds it."""
    watching = await cast.lin.begin("watch_pool", pool=POOL)
    began = time.perf_counter()
    report = await cast.mira.act("report", pool=POOL)
    account.says("mira", report["said"], report["took_ms"])
    woken = await watching
    account.says(
        "lin", f"woken, asks 结账服务为什么变慢？ and reads: {woken['said']}", (time.perf_counter() - began) * 1000
    )
    account.says("", woken["why"])
    account.check(
        woken["id"] == report["id"], "the notice woke Lin, and his Chinese question found Mira's English finding"
    )
    seen["finding"] = report["id"]


async def a_lesson(cast: Cast, account: Account, seen: dict[str, Any]) -> None:
    """Lin answers in Chinese; Mira is woken, asks in English and uses it."""
    watching = await cast.mira.begin("await_help", pool=POOL)
    lesson = await cast.lin.act("explain", pool=POOL, finding=seen["finding"])
    account.says("lin", lesson["said"], lesson["took_ms"])
    used = await watching
    account.says("mira", f"woken, asks how to fix it and reads: {used['said']}", used["took_ms"])
    account.check(used["said"] == lesson["said"], "Mira's English question found Lin's Chinese lesson")


async def a_race(cast: Cast, account: Account, seen: dict[str, Any]) -> None:
    """Both saw the same version of the board, and both write."""
    before = await asyncio.gather(*(actor.act("read_board", pool=POOL) for actor in (cast.mira, cast.lin)))
    account.says("both", f"see version {before[0]['version']} of the board: {before[0]['said']}")
    results = await asyncio.gather(*(actor.act("update_board", pool=POOL) for actor in (cast.mira, cast.lin)))
    for actor, result in zip((cast.mira, cast.lin), results, strict=True):
        lost = "lost the race, read again, " if result["refused"] else ""
        account.says(actor.name, f"{lost}wrote version {result['version']}: {result['said']}", result["took_ms"])
    after = await cast.mira.act("read_board", pool=POOL)
    account.check(
        sorted(result["version"] for result in results) == [2, 3] and sum(result["refused"] for result in results) == 1,
        "one update was refused as stale and retried",
    )
    account.check(all(result["said"] in after["said"] for result in results), "no line of the board was lost")


async def not_his_business(cast: Cast, account: Account, seen: dict[str, Any]) -> None:
    """Otto tries every door, and Mira looks for what Lin keeps to himself."""
    answer = await cast.otto.act("pry", pool=POOL, finding=seen["finding"])
    account.says("otto", f"tried the pool: {answer['heard']}", answer["took_ms"])
    account.check(
        set(answer["heard"].values()) == {"not_found"} and answer["found"] == 0,
        "to Otto the pool does not exist, and nothing of it turns up in his searches",
    )
    others = await cast.mira.act("look_for_others_notes")
    account.check("agent/lin" not in others["authors"], "Lin's private note is not among what Mira finds")


ACTS: Final[tuple[tuple[str, Act], ...]] = (
    ("Private notes", private_notes),
    ("A finding, told in English, found in Chinese", a_finding),
    ("A lesson, told in Chinese, found in English", a_lesson),
    ("Two want to write on the board at once", a_race),
    ("Not his business", not_his_business),
)
