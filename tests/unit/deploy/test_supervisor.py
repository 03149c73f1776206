"""The supervisor, with children that do nothing: readiness, restarts, order of stopping, death of the parent."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from afterwit.deploy.supervisor import Event, Part, Supervisor
from afterwit.schemas import Unavailable
from tests.engines.processes import alive
from tests.engines.waiting import wait_until

SLEEPS = "import time; time.sleep(600)"
IGNORES_SIGTERM = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
)


async def at_once(_pid: int) -> bool:
    return True


def part(name: str, code: str = SLEEPS, **options: object) -> Part:
    return Part(
        **{  # type: ignore[arg-type]  # tests name the options they mean
            "kind": name.partition("-")[0],
            "name": name,
            "command": (sys.executable, "-I", "-S", "-c", code),
            "ready": at_once,
            **options,
        }
    )


def texts(directory: Path) -> dict[str, str]:
    return {p.name: p.read_text().strip() for p in directory.iterdir()}


async def test_a_part_counts_as_started_once_its_probe_holds(tmp_path: Path) -> None:
    flag = tmp_path / "flag"

    async def ready(_pid: int) -> bool:
        return flag.exists()

    code = f"import time, pathlib; pathlib.Path({str(flag)!r}).touch(); time.sleep(600)"
    async with Supervisor(tmp_path / "logs") as supervisor:
        await supervisor.start(part("node", code, ready=ready))
        assert flag.exists()
        assert [(r.kind, r.name) for r in supervisor.running] == [("node", "node")]


async def test_a_dead_child_is_started_again(tmp_path: Path) -> None:
    events: list[Event] = []
    async with Supervisor(tmp_path / "logs", events.append) as supervisor:
        await supervisor.start(part("node"))
        first = supervisor.running[0].pid
        os.kill(first, signal.SIGKILL)
        await wait_until(lambda: [e.what for e in events].count("ready") == 2, description="the restart")
        assert supervisor.running[0].pid != first
        assert [e.what for e in events] == ["ready", "died", "restarting", "ready"]
        assert events[1].detail == "was killed by SIGKILL"


async def test_the_back_off_grows_while_a_child_keeps_dying(tmp_path: Path) -> None:
    marker = tmp_path / "once"
    code = f"""if True:
        import pathlib, time
        marker = pathlib.Path({str(marker)!r})
        first = not marker.exists()
        marker.touch()
        time.sleep(600 if first else 0)"""
    times: list[float] = []

    def note(event: Event) -> None:
        if event.what == "restarting":
            times.append(time.monotonic())

    async with Supervisor(tmp_path / "logs", note) as supervisor:
        await supervisor.start(part("node", code))
        await wait_until(marker.exists, description="the first start")
        os.kill(supervisor.running[0].pid, signal.SIGKILL)
        await wait_until(lambda: len(times) == 4, description="four restarts")
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert gaps[0] >= 0.2
    assert gaps[2] >= 0.8


async def test_the_last_started_is_stopped_first(tmp_path: Path) -> None:
    stopped: list[str] = []

    def note(event: Event) -> None:
        if event.what == "stopped":
            stopped.append(event.part.name)

    async with Supervisor(tmp_path / "logs", note) as supervisor:
        await supervisor.start(part("nats"))
        await supervisor.start(part("node"))
        await supervisor.start(part("gateway-1"), part("gateway-2"))
        pids = [r.pid for r in supervisor.running]
    assert set(stopped[:2]) == {"gateway-1", "gateway-2"}
    assert stopped[2:] == ["node", "nats"]
    assert not any(map(alive, pids))


async def test_who_does_not_hear_sigterm_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "node.log"

    async def ready(_pid: int) -> bool:
        return "deaf" in log.read_text()

    async with Supervisor(tmp_path / "logs") as supervisor:
        await supervisor.start(part("node", IGNORES_SIGTERM, ready=ready, stop_timeout_s=0.2))
        pid = supervisor.running[0].pid
    assert not alive(pid)


async def test_stopping_does_not_wait_for_a_back_off(tmp_path: Path) -> None:
    events: list[Event] = []
    async with Supervisor(tmp_path / "logs", events.append) as supervisor:
        await supervisor.start(part("node"))
        os.kill(supervisor.running[0].pid, signal.SIGKILL)
        await wait_until(lambda: any(e.what == "died" for e in events), description="its death")
    assert supervisor.running == []


async def test_a_child_that_ends_while_starting_is_told_with_its_last_words(tmp_path: Path) -> None:
    async def never(_pid: int) -> bool:
        return False

    with pytest.raises(Unavailable, match=r"(?s)node ended with status 3 while it was starting.*no such model"):
        async with Supervisor(tmp_path / "logs") as supervisor:
            await supervisor.start(part("node", "print('no such model', flush=True); raise SystemExit(3)", ready=never))


async def test_a_child_that_is_never_ready_is_told_and_stopped(tmp_path: Path) -> None:
    async def refused(_pid: int) -> bool:
        raise ConnectionRefusedError

    with pytest.raises(Unavailable, match=r"node was not ready after 0\.3 s"):
        async with Supervisor(tmp_path / "logs") as supervisor:
            await supervisor.start(part("node", ready=refused, ready_timeout_s=0.3))
    assert supervisor.running == []


async def test_an_error_of_the_body_comes_out_as_it_is(tmp_path: Path) -> None:
    async def body() -> None:
        async with Supervisor(tmp_path / "logs") as supervisor:
            await supervisor.start(part("node"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await body()


async def test_old_logs_are_kept_aside(tmp_path: Path) -> None:
    for n in range(6):
        async with Supervisor(tmp_path) as supervisor:

            async def printed(_pid: int) -> bool:
                return bool((tmp_path / "node.log").read_text())

            await supervisor.start(part("node", f"import time; print({n}, flush=True); time.sleep(600)", ready=printed))
    assert texts(tmp_path) == {"node.log": "5", "node.log.1": "4", "node.log.2": "3", "node.log.3": "2"}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_children_die_with_the_supervisor(tmp_path: Path) -> None:
    script = textwrap.dedent(f"""
        import asyncio, sys
        from pathlib import Path
        from afterwit.deploy.supervisor import Part, Supervisor

        async def ready(pid): return True

        async def main():
            async with Supervisor(Path({str(tmp_path)!r})) as supervisor:
                await supervisor.start(Part(kind="n", name="n", command=("sleep", "600"), ready=ready))
                print(supervisor.running[0].pid, flush=True)
                await asyncio.sleep(600)

        asyncio.run(main())
    """)
    with subprocess.Popen([sys.executable, "-P", "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
        parent.wait()
    asyncio.run(wait_until(lambda: not alive(pid), description="the child's death"))
