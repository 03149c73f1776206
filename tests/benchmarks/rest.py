"""What `afterwit up` takes while nobody asks for anything: all its processes, with the real model."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import nats

from afterwit.bus import names
from afterwit.bus.rpc import Requester
from afterwit.deploy.ready import Ready
from afterwit.schemas import Retrieve, Store

from . import up
from .corpus import AGENT, Corpus

_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
_USED: Final = 20


@dataclass(frozen=True, slots=True)
class AtRest:
    """Of one part. ``cpu`` is the share of one core; ``pss_mb`` counts memory that processes share once, in parts."""

    part: str
    cpu: float
    pss_mb: float
    rss_mb: float


async def at_rest(directory: Path, seconds: float) -> list[AtRest]:
    """Each process of a system that was used a little and then left alone, watched for ``seconds``.

    Linux only: it reads /proc.
    """
    directory.mkdir()
    async with up.started(up.AS_IT_IS, directory, AGENT) as system:
        await _use(system)
        await asyncio.sleep(2)
        processes = [("up", system.pid), *((each.part, each.pid) for each in system.processes)]
        before = {pid: cpu_s(pid) for _, pid in processes}
        begun = time.perf_counter()
        await asyncio.sleep(seconds)
        took = time.perf_counter() - begun
        return [AtRest(part, (cpu_s(pid) - before[pid]) / took, *memory_mb(pid)) for part, pid in processes]


async def _use(system: Ready) -> None:
    """As if it had been up for a while: the model is loaded and every path was gone once."""
    corpus = Corpus()
    nc = await nats.connect(system.nats, token=system.agents[AGENT], inbox_prefix=names.inbox(AGENT).encode())
    try:
        requester = Requester(nc)
        for _ in range(_USED):
            memory = corpus.memory(f"agent/{AGENT}")
            await requester.call(AGENT, "store", Store(content=memory.content, session_id="s"))
            await requester.call(AGENT, "retrieve", Retrieve(query=corpus.query()))
    finally:
        await nc.close()


def cpu_s(pid: int) -> float:
    """Seconds of the processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S  # utime and stime


def memory_mb(pid: int) -> tuple[float, float]:
    """Of a process: PSS and RSS."""
    lines = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    kilobytes = {words[0]: int(words[1]) for words in lines}
    return kilobytes["Pss:"] / 1024, kilobytes["Rss:"] / 1024
