"""The part of a node that looks back: its pieces put together."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import datetime

from nats.aio.client import Client
from nats.js import JetStreamContext

from ..bus import names
from ..bus.consumer import consume
from ..bus.dead_letters import DeadLetters
from ..bus.identity import Agents, PoolRegistry
from ..bus.jobs import Jobs
from ..bus.log import Log
from ..bus.rpc import Handler
from ..schemas import Retention
from .access import Access
from .contradicting import Contradicting
from .guard import Guard
from .index import Calibration, Index
from .operations.reflecting import Reflecting
from .reflection.applying import Applying
from .reflection.episodes import Episodes
from .reflection.gathering import Gathering
from .reflection.reflector import Reflector
from .reflection.review import Review
from .reflection.thinking import Thinking
from .reflection.triggers import Everybody, Triggers
from .reflection.worker import ReflectionWorker
from .settings import NodeSettings
from .write_path import WritePath


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What looking back takes from the rest of the node."""

    nc: Client
    js: JetStreamContext
    access: Access
    agents: Agents
    registry: PoolRegistry
    guard: Guard
    log: Log
    index: Index
    write_path: WritePath
    contradicting: Contradicting
    calibration: Calibration
    jobs: Jobs
    dead: DeadLetters
    thinking: Thinking
    reflector: Reflector
    usefulness: Callable[[str], float]
    clock: Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class LookingBack:
    """Its operations, the loops that must run for it (each ends when ``stop`` is set), and what hears of entries."""

    handlers: Mapping[str, Handler]
    loops: Mapping[str, Callable[..., Coroutine[None, None, None]]]
    triggers: Triggers


def looking_back(settings: NodeSettings, around: Surroundings) -> LookingBack:
    """Everything of a node that looks back; nothing runs yet."""
    jobs = around.jobs
    gathering = Gathering(access=around.access, index=around.index)
    episodes = Episodes(
        gathering=gathering,
        index=around.index,
        thinking=around.thinking,
        guard=around.guard,
        log=around.log,
        write_path=around.write_path,
        clock=around.clock,
    )
    applying = Applying(
        access=around.access,
        guard=around.guard,
        log=around.log,
        write_path=around.write_path,
        clock=around.clock,
        after_store=around.contradicting.settle,
    )
    triggers = Triggers(
        jobs=jobs,
        gathering=gathering,
        episodes=episodes,
        index=around.index,
        clock=around.clock,
        switches=settings.switches,
    )
    worker = ReflectionWorker(
        jobs=jobs,
        gathering=gathering,
        episodes=episodes,
        reflector=around.reflector,
        applying=applying,
        review=Review(
            log=around.log,
            calibration=around.calibration,
            thinking=around.thinking,
            usefulness=around.usefulness,
            settle=around.contradicting.settle,
            retention=functools.partial(_retention, around.registry),
        ),
        dead=around.dead,
        clock=around.clock,
        at_once=settings.reflect_at_once,
        within_s=settings.reflect_within_s,
        after=triggers.after,
    )
    reflecting = Reflecting(
        access=around.access,
        jobs=jobs,
        gathering=gathering,
        episodes=episodes,
        clock=around.clock,
        switches=settings.switches,
    )
    loops: dict[str, Callable[..., Coroutine[None, None, None]]] = {
        names.worker(names.REFLECT, urgency): functools.partial(
            consume,
            around.js,
            names.JOBS,
            names.worker(names.REFLECT, urgency),
            worker.handle,
            batch=settings.reflect_at_once,
            filter_subject=names.jobs_of(names.REFLECT, urgency),
        )
        for urgency in names.URGENCIES
    }
    loops["triggers"] = functools.partial(triggers.run, everybody=Everybody(around.agents, around.registry))
    handlers: dict[str, Handler] = {"reflect": reflecting.reflect, "end_session": reflecting.end_session}
    return LookingBack(handlers, loops, triggers)


async def _retention(registry: PoolRegistry, pool: str) -> Retention:
    settings = await registry.settings_of(pool)
    return settings.retention_days if settings else Retention()
