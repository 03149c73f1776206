"""`GET /health`: whether this gateway can serve, and how the parts behind it are."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Final

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg

from .. import names
from ..connection import unsubscribe
from .tools import TOOLS

_FIRST_ANSWER_S: Final = 1.0
_FURTHER_ANSWERS_S: Final = 0.05
"""Nodes answer a ping at once or not at all; the first one shows how fast that is."""

COMPONENTS: Final = ("index", "window", "inference")


class EndpointData(msgspec.Struct, frozen=True):
    """What a node tells of itself."""

    components: dict[str, str] = {}


class EndpointStats(msgspec.Struct, frozen=True):
    """One endpoint of a node; it has one."""

    data: EndpointData = EndpointData()


class NodeStats(msgspec.Struct, frozen=True):
    """What a node's answer to `names.SERVICE_STATS` holds, as far as it matters here (NATS micro's shape)."""

    endpoints: tuple[EndpointStats, ...] = ()


class HealthReport(msgspec.Struct, frozen=True, kw_only=True):
    """The contract's shape. ``status`` is ``ok``, ``degraded`` or ``unavailable``."""

    status: str
    tools: int = len(TOOLS)
    components: dict[str, str]

    @property
    def http_status(self) -> int:
        """503 if nothing can be served."""
        return 503 if self.status == "unavailable" else 200


async def examine(nc: Client) -> HealthReport:
    """Ask all nodes how they are."""
    if not nc.is_connected:
        return judge(nats="unavailable", nodes=[])
    return judge(nats="ok", nodes=await _ask_all(nc))


def judge(*, nats: str, nodes: list[dict[str, str]]) -> HealthReport:
    """One report from the components that each node told of."""
    told: defaultdict[str, set[str]] = defaultdict(set)
    for node in nodes:
        for part, state in node.items():
            told[part].add(state)
    components = {"nats": nats}
    for part in dict.fromkeys((*COMPONENTS, *told)):
        components[part] = _together(told[part])
    if nats != "ok" or not nodes:
        return HealthReport(status="unavailable", components=components)
    well = all(state == "ok" for state in components.values())
    return HealthReport(status="ok" if well else "degraded", components=components)


def _together(states: set[str]) -> str:
    """One word for all nodes: theirs where they agree, ``degraded`` where some are better off."""
    if not states:
        return "unavailable"
    return next(iter(states)) if len(states) == 1 else "degraded"


async def _ask_all(nc: Client) -> list[dict[str, str]]:
    answers: asyncio.Queue[Msg] = asyncio.Queue()
    inbox = nc.new_inbox()
    subscription = await nc.subscribe(inbox, cb=answers.put)
    try:
        await nc.publish(names.SERVICE_STATS, reply=inbox)
        nodes: list[dict[str, str]] = []
        wait_s = _FIRST_ANSWER_S
        while True:
            try:
                msg = await asyncio.wait_for(answers.get(), wait_s)
            except TimeoutError:
                return nodes
            if not msg.data:
                return nodes  # the server says that nobody is there
            stats = msgspec.json.decode(msg.data, type=NodeStats)
            nodes += [endpoint.data.components for endpoint in stats.endpoints]
            wait_s = _FURTHER_ANSWERS_S
    finally:
        await unsubscribe(subscription)
