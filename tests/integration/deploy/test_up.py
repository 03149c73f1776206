"""`afterwit up` on real NATS and Valkey; node and gateway are stand-ins, so that what is tried is the starting."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from afterwit.bus import names
from afterwit.bus.connection import Credentials, connect
from afterwit.bus.identity import Agents
from afterwit.deploy.ready import Ready
from tests.engines.ports import free_port
from tests.engines.processes import alive
from tests.engines.waiting import wait_until

STAND_INS = Path(__file__).with_name("stand_ins.py")
SCRIPT = f"""
import asyncio, os, sys
import click
from afterwit.deploy.cli import serving
from afterwit.deploy import up
from afterwit.deploy.parts import Programs

run = up.up
async def with_stand_ins(options, report, *, environ):
    stand_in = (sys.executable, "-P", {str(STAND_INS)!r})
    programs = Programs(node=(*stand_in, "node"), gateway=(*stand_in, "gateway"))
    await run(options, report, environ=environ, programs=programs)

up.up = with_stand_ins
serving.up()
"""


@dataclass
class Up:
    process: asyncio.subprocess.Process
    data: Path
    file: Path

    @property
    def ready(self) -> Ready:
        return msgspec.json.decode(self.file.read_bytes(), type=Ready)

    def pid(self, part: str) -> int:
        return next(p.pid for p in self.ready.processes if p.part == part)

    async def restarted(self, part: str, before: int) -> None:
        await wait_until(
            lambda: before not in {p.pid for p in self.ready.processes} and self.pid(part),
            description=f"{part} restarted, and the ready file written anew",
        )

    async def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            return await self.process.wait()


async def begin(tmp_path: Path, *options: str, env: dict[str, str] | None = None) -> Up:
    data, file = tmp_path / "data", tmp_path / "ready.json"
    clean = {k: v for k, v in os.environ.items() if not k.startswith("AFTERWIT_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-c", SCRIPT, "--data-dir", str(data), "--ready-file", str(file)),
        *("--port", "0", "--nats-port", "0", *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**clean, **(env or {})},
    )
    return Up(process, data, file)


@asynccontextmanager
async def up(tmp_path: Path, *options: str) -> AsyncIterator[Up]:
    running = await begin(tmp_path, *options)
    try:
        await wait_until(
            lambda: running.file.exists() or running.process.returncode is not None,
            description="the ready file",
        )
        if running.process.returncode is not None:
            raise AssertionError((await running.process.communicate())[1].decode())
        yield running
    finally:
        if running.process.returncode is None:
            await running.stop()
        await running.process.communicate()


async def refusal(tmp_path: Path, *options: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    refused = await begin(tmp_path, *options, env=env)
    async with asyncio.timeout(60):
        _, errors = await refused.process.communicate()
    assert refused.process.returncode is not None
    return refused.process.returncode, " ".join(errors.decode().split())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_it_tells_where_everything_is_and_leaves_nothing_running(tmp_path: Path) -> None:
    async with up(tmp_path, "--agent", "alice", "--agent", "bob", "--gateways", "2") as running:
        ready = running.ready
        assert ready.pid == running.process.pid
        assert [p.part for p in ready.processes] == ["nats", "valkey", "node", "gateway", "gateway"]
        assert ready.mcp == f"{ready.gateways[0]}/mcp"
        assert ready.health == f"{ready.gateways[0]}/health"
        assert len(set(ready.gateways)) == 2
        assert ready.data_dir == str(running.data)
        assert set(ready.agents) == {"alice", "bob"}
        assert all(map(alive, (p.pid for p in ready.processes)))
        assert await running.stop() == 0
    assert not any(map(alive, (p.pid for p in ready.processes)))
    assert not running.file.exists()


async def test_what_is_private_is_for_the_owner_alone(tmp_path: Path) -> None:
    async with up(tmp_path, "--agent", "alice") as running:
        data = running.data
        files = [running.file, data / "ready.json", data / "tokens" / "alice", data / "nats" / "nats.conf"]
        files += [data / "valkey" / "valkey.conf", *(data / "credentials").iterdir()]
        assert {mode(file) for file in files} == {0o600}
        assert {mode(folder) for folder in (data, data / "tokens", data / "credentials", data / "logs")} == {0o700}
        assert (data / "tokens" / "alice").read_text().strip() == running.ready.agents["alice"]


async def test_an_agent_keeps_its_token_from_run_to_run(tmp_path: Path) -> None:
    async with up(tmp_path, "--agent", "alice") as running:
        token = running.ready.agents["alice"]
        credentials = Credentials.from_file(running.data / "credentials" / "admin.json")
        nc = await connect(running.ready.nats, name="t", credentials=credentials, inbox_prefix=names.inbox("admin"))
        try:
            assert await Agents(nc).verify(token) == "alice"
        finally:
            await nc.close()
    async with up(tmp_path, "--agent", "alice") as running:
        assert running.ready.agents["alice"] == token


@pytest.mark.parametrize("part", ["nats", "valkey", "node", "gateway"])
async def test_a_part_that_is_killed_comes_back(tmp_path: Path, part: str) -> None:
    async with up(tmp_path) as running:
        before, killed = running.ready, running.pid(part)
        os.kill(killed, signal.SIGKILL)
        await running.restarted(part, killed)
        after = running.ready
        assert (after.nats, after.gateways) == (before.nats, before.gateways)
        others = {p.pid for p in before.processes} - {killed}
        assert others < {p.pid for p in after.processes}


async def test_parts_go_on_though_the_ready_file_cannot_be_written(tmp_path: Path) -> None:
    """As on a full disk: what has come back serves, and the file is written when there is room again."""
    async with up(tmp_path) as running:
        file, running.file = running.file, running.data / "ready.json"
        file.unlink()
        file.mkdir()
        killed = running.pid("gateway")
        os.kill(killed, signal.SIGKILL)
        await running.restarted("gateway", killed)
        file.rmdir()
        killed = running.pid("gateway")
        os.kill(killed, signal.SIGKILL)
        await running.restarted("gateway", killed)
        await wait_until(file.exists, description="the file is there again")


async def test_a_second_one_on_the_same_data_is_told_who_holds_it(tmp_path: Path) -> None:
    async with up(tmp_path) as running:
        status, errors = await refusal(tmp_path)
        assert status == 1
        assert f"held by another `afterwit up`, process {running.process.pid}" in errors
        assert running.file.exists(), "the ready file of the first was left alone"


async def test_its_children_die_with_it(tmp_path: Path) -> None:
    async with up(tmp_path) as running:
        pids = [p.pid for p in running.ready.processes]
        running.process.kill()
        await wait_until(lambda: not any(map(alive, pids)), description="all parts gone")
    async with up(tmp_path):
        pass  # the data directory is free again


async def test_a_signal_while_it_starts_stops_it(tmp_path: Path) -> None:
    running = await begin(tmp_path)
    log = running.data / "logs" / "nats.log"
    await wait_until(log.exists, description="the first part being started")
    assert await running.stop() == 0
    await running.process.communicate()
    assert not running.file.exists()


async def test_a_taken_port_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, errors = await refusal(tmp_path, "--nats-port", str(port))
    assert status == 1
    assert f"port {port} on 127.0.0.1 is taken by another program" in errors
    assert "--nats-port" in errors


@pytest.mark.parametrize(
    ("options", "env", "says"),
    [
        (["--nodes", "2"], {}, "--nodes 2 needs --qdrant-url: the embedded index has one owner"),
        (["--nats-url", "nats://127.0.0.1:1"], {}, "--nats-url needs AFTERWIT_NATS_CREDENTIALS"),
        (["--agent", "Alice"], {}, "'Alice' is no agent's name"),
        (["--port", "70000"], {}, "--port"),
        (["--ready-file", "/nowhere/ready.json"], {}, "there is no directory /nowhere"),
        ([], {"AFTERWIT_SYNC_INTERVAL": "often"}, "AFTERWIT_SYNC_INTERVAL: 'often'"),
    ],
)
async def test_wrong_usage(tmp_path: Path, options: list[str], env: dict[str, str], says: str) -> None:
    status, errors = await refusal(tmp_path, *options, env=env)
    assert status == 2
    assert says in errors
    assert not (tmp_path / "data").exists()


async def test_a_nats_that_is_not_there_is_told(tmp_path: Path) -> None:
    credentials = tmp_path / "admin.json"
    credentials.write_text('{"user": "u", "password": "p"}')
    url = f"nats://127.0.0.1:{free_port()}"
    status, errors = await refusal(tmp_path, "--nats-url", url, env={"AFTERWIT_NATS_CREDENTIALS": str(credentials)})
    assert status == 1
    assert url in errors
